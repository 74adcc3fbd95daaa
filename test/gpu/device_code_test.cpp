#include <tutti/gpu/device_code.hpp>

#include "stage.hpp"

#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/task.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace device_images {
extern const tutti::gpu::device_image kernels;
}

namespace device_code_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

constexpr std::byte some_bytes[16]{};
const gpu::device_image any_image{"any.cu", some_bytes};

/// values[i] += amount, where both have odd sizes so that a wrong copy of parameters is seen.
gpu::sim::kernel add_to_all(gpu::sim::machine& on) {
    return {"add_to_all", {sizeof(float*), sizeof(std::uint16_t), sizeof(double)}, [&on](const gpu::sim::kernel_launch& made) {
                gpu::sim::kernel_work meant;
                const auto values = made.parameter<CUdeviceptr>(0);
                const auto count = made.parameter<std::uint16_t>(1);
                const auto amount = made.parameter<double>(2);
                meant.length = 100us;
                meant.touches = {{values, count * sizeof(float)}};
                meant.body = [&on, values, count, amount] {
                    for (int i = 0; i < count; ++i) on.shadow_of<float>(values)[i] += static_cast<float>(amount);
                };
                return meant;
            }};
}

task<> add_twice(gpu::stream on, gpu::kernel add, gpu::device_buffer<float> values, gpu::pinned_buffer<float> seen) {
    const gpu::kernel_shape shape{.blocks = {1}, .threads = {32}};
    co_await gpu::fill(on, values, std::byte{0});
    {
        double amount = 0.5;
        CHECK(add.launch(on, shape, values.data(), std::uint16_t{5}, amount));
        amount = 1.25;  // the first launch has a copy
        CHECK(add.launch(on, shape, values.data(), std::uint16_t{3}, amount));
    }
    co_await gpu::copy(on, seen, values);
}

}  // namespace

TEST_CASE("a kernel is launched on a stream with copies of its parameters, and runs in the stream's order") {
    stepped_stage stage;
    stage.machine.offer(add_to_all(stage.machine));
    const auto add = gpu::device_code::load(stage.device(), any_image).value().find("add_to_all").value();
    const auto values = gpu::device_buffer<float>::allocate(stage.device(), 5).value();
    const auto seen = gpu::pinned_buffer<float>::allocate(stage.device(), 5).value();
    run(stage.loop, add_twice(stage.stream(), add, values, seen));
    CHECK(std::vector<float>(seen.data(), seen.data() + 5) == std::vector<float>{1.75f, 1.75f, 1.75f, 0.5f, 0.5f});
    CHECK(stage.loop.now() >= time_point(200us));
}

TEST_CASE("code stays loaded while one of its kernels is left, and is unloaded off the caller's path") {
    stepped_stage stage;
    stage.machine.offer(add_to_all(stage.machine));
    {
        auto add = gpu::device_code::load(stage.device(), any_image).value().find("add_to_all").value();
        stage.loop.run();
        CHECK(stage.machine.calls("cuModuleUnload") == 0);
    }
    CHECK(stage.machine.calls("cuModuleUnload") == 0);
    stage.loop.run();
    CHECK(stage.machine.calls("cuModuleUnload") == 1);
}

namespace {

struct refusal {
    const char* what;
    std::vector<std::string> missing;  // of the driver's
    gpu::device_image image;
    const char* kernel;
    error code;
    const char* words;
};

/// Of loading, or of looking for the kernel.
failure refused(stepped_stage& stage, const refusal& row) {
    auto code = gpu::device_code::load(stage.device(), row.image);
    return code ? code->find(row.kernel).failure() : code.failure();
}

}  // namespace

TEST_CASE("code that cannot be had is refused in words") {
    const refusal rows[] = {
        {"built without nvcc",
         {},
         {"mine.cu", {}},
         "add_to_all",
         error::unsupported,
         "mine.cu is not in this program: it was built without nvcc"},
        {"an incomplete driver", {"cuLaunchKernel"}, any_image, "add_to_all", error::unsupported, "the driver lacks cuLaunchKernel"},
        {"another name", {}, any_image, "add_to_al", error::invalid_argument, "any.cu has no kernel add_to_al"},
    };
    for (const refusal& row : rows) {
        CAPTURE(row.what);
        gpu::sim::options how;
        how.missing = row.missing;
        stepped_stage stage({}, how);
        stage.machine.offer(add_to_all(stage.machine));
        const failure why = refused(stage, row);
        CHECK(why.code() == row.code);
        CHECK(std::string(why.what()).find(row.words) != std::string::npos);
    }
}

TEST_CASE("an image without code for the device fails in the driver's words, and the device works on") {
    stepped_stage stage;
    stage.machine.fail("cuModuleLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
    auto code = gpu::device_code::load(stage.device(), any_image);
    REQUIRE_FALSE(code);
    CHECK(code.failure().code() == error::device_failed);
    CHECK(std::string(code.failure().what()).find("cuModuleLoadData of any.cu: CUDA_ERROR_NO_BINARY_FOR_GPU") != std::string::npos);
    CHECK_FALSE(stage.device().fault());
}

TEST_CASE("a kernel is refused on a stream of another device, and taken on one of the same device opened again") {
    gpu::sim::options how;
    how.devices = 2;
    stepped_stage stage({}, how);
    stage.machine.offer(add_to_all(stage.machine));
    const auto add = gpu::device_code::load(stage.device(), any_image).value().find("add_to_all").value();
    {
        const auto other = gpu::open_device(stage.driver, 1, {}, stage.places()).value();
        const auto refused = add.launch(gpu::stream::make(other).value(), {}, static_cast<float*>(nullptr), std::uint16_t{0}, 0.0);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code() == error::invalid_argument);
        CHECK(std::string(refused.failure().what())
                  .find("cuLaunchKernel of add_to_all: it was loaded into device 0, the stream is one of device 1") != std::string::npos);
        const auto again = gpu::open_device(stage.driver, 0, {}, stage.places()).value();
        const auto values = gpu::device_buffer<float>::allocate(again, 5).value();
        const auto on = gpu::stream::make(again).value();
        CHECK(add.launch(on, {}, values.data(), std::uint16_t{5}, 0.0));
        stage.loop.run();
    }
    stage.loop.run();
}

TEST_CASE("what the build embeds is a fatbin, or nothing where there is no nvcc") {
    const auto& image = device_images::kernels;
    CHECK(std::string(image.name) == "kernels.cu");
    CHECK(image.bytes.empty() == !TEST_HAS_DEVICE_CODE);
    if (image.bytes.empty()) return;
    constexpr unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};  // of a fatbin's header
    REQUIRE(image.bytes.size() > 1000);
    CHECK(std::memcmp(image.bytes.data(), magic, sizeof magic) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(image.bytes.data()) % 16 == 0);
    const std::string_view text(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
    CHECK(text.find("scaled_numbers") != text.npos);
    CHECK(text.find(".target sm_90") != text.npos);  // for devices to come
}

}  // namespace device_code_test
