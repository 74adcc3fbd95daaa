#include <tutti/gpu/device.hpp>

#include "gpu/device_state.hpp"
#include "stage.hpp"

#include <tutti/gpu/device_buffer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace device_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& piece) { return text.find(piece) != text.npos; }

}  // namespace

TEST_CASE("a device tells who it is, and its handles are one device") {
    gpu::sim::options how;
    how.devices = 2;
    stepped_stage stage({}, how);
    const gpu::device second = gpu::open_device(stage.driver, 1, {}, stage.places()).value();
    const gpu::device same = second;
    CHECK(second.ordinal() == 1);
    CHECK(contains(second.name(), "simulated"));
    CHECK(contains(second.uuid(), "GPU-"));
    CHECK(second.uuid() != stage.device().uuid());
    CHECK(second.bus() != stage.device().bus());
    CHECK(same.inner() == second.inner());
    CHECK_FALSE(second.fault());
}

TEST_CASE("a number without a device is refused with how many there are") {
    stepped_stage stage;
    for (const int ordinal : {-1, 1, 1000}) {
        const auto opened = gpu::open_device(stage.driver, ordinal, {}, stage.places());
        REQUIRE_FALSE(opened);
        CHECK(opened.failure().code() == error::invalid_argument);
        CHECK(contains(opened.failure().what(), "this host has 1"));
    }
}

TEST_CASE("a device that does not open says which call failed, and leaves nothing behind") {
    for (const char* call : {"cuDevicePrimaryCtxRetain", "cuEventCreate", "cuDeviceGetUuid", "cuDeviceGetCount"}) {
        CAPTURE(call);
        stepped_stage stage;
        stage.machine.fail(call, CUDA_ERROR_OUT_OF_MEMORY, 0, 1);
        const auto opened = gpu::open_device(stage.driver, 0, {}, stage.places());
        REQUIRE_FALSE(opened);
        CHECK(opened.failure().code() == error::device_failed);
        CHECK(contains(opened.failure().what(), call));
        CHECK(contains(opened.failure().what(), "CUDA_ERROR_OUT_OF_MEMORY"));
        stage.loop.run();
    }
}

TEST_CASE("an error that passes is told and is no fault; one that lasts is the device's fault, and the first counts") {
    stepped_stage stage;
    stage.machine.fail("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
    const auto full = gpu::device_buffer<float>::allocate(stage.device(), 100);
    REQUIRE_FALSE(full);
    CHECK(contains(full.failure().what(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK_FALSE(stage.device().fault());
    CHECK(gpu::device_buffer<float>::allocate(stage.device(), 100));

    stage.machine.fault(0, CUDA_ERROR_ECC_UNCORRECTABLE);
    const auto broken = gpu::device_buffer<float>::allocate(stage.device(), 100);
    REQUIRE_FALSE(broken);
    CHECK(contains(broken.failure().what(), "CUDA_ERROR_ECC_UNCORRECTABLE"));
    CHECK(contains(broken.failure().what(), "everything on this device fails from here on"));
    stage.device().inner()->break_down("another", CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE(stage.device().fault());
    CHECK(std::string(stage.device().fault()->what()) == broken.failure().what());
    const auto calls = stage.machine.calls("cuMemAlloc");
    CHECK_FALSE(gpu::device_buffer<float>::allocate(stage.device(), 100));
    CHECK(stage.machine.calls("cuMemAlloc") == calls);
}

TEST_CASE("calls leave the thread's own context as it was") {
    gpu::sim::options how;
    how.devices = 2;
    stepped_stage stage({}, how);
    CUcontext other = nullptr;
    REQUIRE(stage.driver.cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
    stage.driver.cuCtxSetCurrent(other);
    {
        const auto on = stage.stream();
        CHECK(on.record());
        CUcontext now = nullptr;
        stage.driver.cuCtxGetCurrent(&now);
        CHECK(now == other);
    }
    stage.driver.cuCtxSetCurrent(nullptr);
    stage.driver.cuDevicePrimaryCtxRelease(1);
}

TEST_CASE("with threads of its own a device is closed when its last handle is, and everything has been given back") {
    for (int i = 0; i < 20; ++i) {
        gpu::sim::checked_machine machine(threaded_machine());
        const auto driver = machine.driver();
        std::optional<gpu::device> device = gpu::open_device(driver, 0).value();
        const auto on = gpu::stream::make(*device).value();
        const auto memory = gpu::device_buffer<int>::allocate(*device, 10).value();
        device.reset();
        CHECK(on.record());
    }
}

}  // namespace device_test
