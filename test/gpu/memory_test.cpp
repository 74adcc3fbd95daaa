#include "stage.hpp"

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/task.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <thread>

namespace memory_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

task<> let_go(std::optional<gpu::device_buffer<double>>& device, std::optional<gpu::pinned_buffer<double>>& pinned) {
    device.reset();
    pinned.reset();
    co_return;
}

}  // namespace

TEST_CASE("buffers say how large they are, and their parts what they are of") {
    stepped_stage stage;
    const auto memory = gpu::device_buffer<double>::allocate(stage.device(), 100).value();
    const auto host = gpu::pinned_buffer<double>::allocate(stage.device(), 100).value();
    CHECK(memory.size() == 100);
    CHECK(memory.bytes() == 800);
    const auto part = memory.part(10, 5);
    CHECK(part.data == memory.data() + 10);
    CHECK(part.bytes == 40);
    host[99] = 7;
    CHECK(host.values().size() == 100);
    CHECK(*static_cast<double*>(host.part(99, 1).data) == 7);
    const gpu::host_part whole = host;
    CHECK(whole.bytes == 800);
}

TEST_CASE("elements of no bytes are refused") {
    stepped_stage stage;
    CHECK(gpu::allocate_device_memory(stage.device(), 5, 0).failure().code() == error::invalid_argument);
    CHECK(gpu::allocate_pinned_memory(stage.device(), 5, 0).failure().details().cause == "5 elements of 0 bytes");
}

TEST_CASE("memory is never freed by the thread of the loop that lets go of it") {
    threaded_stage stage;
    std::optional device = gpu::device_buffer<double>::allocate(stage.device(), 100).value();
    std::optional pinned = gpu::pinned_buffer<double>::allocate(stage.device(), 100).value();
    run(stage.loop, let_go(device, pinned));
    stage.opened.reset();
    CHECK(stage.machine.calls("cuMemFree") == 1);
    CHECK(stage.machine.own_calls("cuMemFree") == 0);
    CHECK(stage.machine.calls("cuMemFreeHost") == 1);
    CHECK(stage.machine.own_calls("cuMemFreeHost") == 0);
    CHECK(stage.machine.own_calls("cuEventDestroy") == 0);
}

TEST_CASE("memory outlives the handles of its device") {
    stepped_stage stage;
    std::optional<gpu::device> other = gpu::open_device(stage.driver, 0, {}, stage.places()).value();
    std::optional memory = gpu::device_buffer<int>::allocate(*other, 10).value();
    other.reset();
    stage.loop.run();
    CHECK(stage.machine.calls("cuMemFree") == 0);
    memory.reset();
    stage.loop.run();
    CHECK(stage.machine.calls("cuMemFree") == 1);
}

TEST_CASE("a host that touches memory of a device is stopped there, by reading and by writing") {
    stepped_stage stage;
    const auto memory = gpu::device_buffer<int>::allocate(stage.device(), 1).value();
    const auto host = gpu::pinned_buffer<int>::allocate(stage.device(), 1).value();
    const auto ends_by_signal = [](const std::function<void()>& touch) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::signal(SIGSEGV, SIG_DFL);
            touch();
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    };
    volatile int* const there = memory.data();
    volatile int* const here = host.data();
    CHECK(ends_by_signal([there] { static_cast<void>(*there); }));
    CHECK(ends_by_signal([there] { *there = 1; }));
    CHECK_FALSE(ends_by_signal([here] { *here = *here + 1; }));
}

TEST_CASE("memory that cannot be had is a failure with the driver's words") {
    stepped_stage stage;
    const auto device = gpu::device_buffer<char>::allocate(stage.device(), 2 * GiB);
    REQUIRE_FALSE(device);
    CHECK(device.failure().code() == error::device_failed);
    stage.machine.fail("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(gpu::pinned_buffer<char>::allocate(stage.device(), 10).failure().code() == error::device_failed);
    constexpr std::size_t too_many = std::size_t{1} << 62;
    CHECK(gpu::device_buffer<float>::allocate(stage.device(), too_many).failure().code() == error::invalid_argument);
    CHECK(gpu::pinned_buffer<float>::allocate(stage.device(), too_many).failure().code() == error::invalid_argument);
    CHECK_FALSE(stage.device().fault());
}

}  // namespace memory_test
