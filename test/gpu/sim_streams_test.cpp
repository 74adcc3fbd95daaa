#include "gpu/device.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <tutti/event_loop.hpp>

#include <chrono>
#include <thread>

namespace sim_streams_test {

using namespace tutti;
using namespace tutti::gpu;
using test::device;
using namespace std::chrono_literals;

TEST_CASE("work of one stream runs in order, that of two at once") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream compute = on.stream(), other = on.stream();
    machine.launch(compute, 100us, {}, "first");
    machine.launch(compute, 50us, {}, "second");
    machine.launch(other, 120us, {}, "beside");
    machine.run();
    const auto trace = machine.trace();
    CHECK(trace.named("second")[0].started - trace.named("first")[0].ended == 0us);
    CHECK(intersect(trace.named("beside")[0], trace.named("first")[0]));
    CHECK(machine.now() == time_point(150us));
}

TEST_CASE("nothing runs before the clock moves, and no further than it moves") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    const CUevent event = on.event();
    int ran = 0;
    machine.launch(stream, 100us, [&] { ++ran; });
    CHECK(on.cuda.cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    machine.advance(99us);
    CHECK(ran == 0);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    machine.advance(1us);
    CHECK(ran == 1);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
}

TEST_CASE("a loop in virtual time drives the streams, and its clock is theirs") {
    sim::checked_machine machine;
    event_loop loop(event_loop::virtual_time);
    device on(machine.driver());
    const CUstream stream = on.stream();
    std::vector<time_point> seen;
    machine.drive(loop);
    machine.launch(stream, 100us, [&] { seen.push_back(loop.now()); });
    machine.launch(stream, 50us, [&] { seen.push_back(loop.now()); });
    const auto begin = loop.now();
    loop.run();
    CHECK(seen == std::vector{begin + 100us, begin + 150us});
    CHECK(machine.end() ==
          "at the end: stream 0 of device 0 was never given back\nat the end: the context of device 0 was never given back\n");
}

TEST_CASE("copies move bytes when they end, and the host cannot see device memory") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    const CUdeviceptr memory = on.allocate(1000);
    auto* const host = on.pin<std::uint8_t>(1000);
    std::fill_n(host, 1000, std::uint8_t{7});
    CHECK(on.cuda.cuMemcpyHtoDAsync(memory, host, 1000, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemsetD8Async(memory + 10, 9, 5, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyDtoHAsync(host, memory, 1000, stream) == CUDA_SUCCESS);
    machine.step();
    CHECK(machine.shadow_of<std::uint8_t>(memory)[0] == 0);
    machine.run();
    CHECK(host[9] == 7);
    CHECK(host[10] == 9);
    CHECK(host[14] == 9);
    CHECK(host[15] == 7);
}

TEST_CASE("the threaded engine runs the same work in real time") {
    sim::options how;
    how.engine = sim::engine::threaded;
    sim::checked_machine machine(how);
    device on(machine.driver());
    const CUstream first = on.stream(), second = on.stream();
    const CUevent event = on.event();
    std::vector<int> order;
    machine.launch(first, 200us, [&] { order.push_back(1); });
    CHECK(on.cuda.cuEventRecord(event, first) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamWaitEvent(second, event, 0) == CUDA_SUCCESS);
    machine.launch(second, 0us, [&] { order.push_back(2); });
    CHECK(on.cuda.cuStreamSynchronize(second) == CUDA_SUCCESS);
    CHECK(order == std::vector{1, 2});
    CHECK(machine.trace().waits.size() == 1);
}

TEST_CASE("a query in thread-local mode leaves another thread's capture alone") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream captured = on.stream(), other = on.stream();
    const CUevent event = on.event();
    CHECK(on.cuda.cuEventRecord(event, other) == CUDA_SUCCESS);
    CHECK(machine.begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    machine.launch(captured, 5us);
    std::thread([&] {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        CHECK(on.cuda.cuCtxSetCurrent(on.context) == CUDA_SUCCESS);
        CHECK(on.cuda.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
        CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
        CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_NOT_READY);
    }).join();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CHECK(on.cuda.cuStreamIsCapturing(captured, &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(machine.end_capture(captured) == CUDA_SUCCESS);
    machine.run();
    CHECK(machine.trace().of(sim::work_kind::kernel).empty());
}

TEST_CASE("a thread that is not the loop's waits for the loop to move the clock") {
    event_loop loop(event_loop::virtual_time);
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    machine.drive(loop);
    machine.launch(stream, 70us);
    std::thread waiting([&] {
        on.cuda.cuCtxSetCurrent(on.context);
        CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    });
    loop.run();
    waiting.join();
    CHECK(machine.trace().of(sim::work_kind::kernel)[0].ended == time_point(70us));
    CHECK(machine.trace().waits.size() == 1);
}

TEST_CASE("copies of one direction follow each other, those of two do not") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream first = on.stream(), second = on.stream(), third = on.stream();
    auto* const host = on.pin<char>(1000);
    const CUdeviceptr memory = on.allocate(1000);
    CHECK(on.cuda.cuMemcpyHtoDAsync(memory, host, 100, first) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyHtoDAsync(memory + 500, host + 500, 100, second) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyDtoHAsync(host + 900, memory + 900, 100, third) == CUDA_SUCCESS);
    machine.launch(on.stream(), 5us);
    machine.run();
    const auto trace = machine.trace();
    const auto in = trace.named("host to device");
    CHECK_FALSE(intersect(in[0], in[1]));
    CHECK(intersect(in[0], trace.named("device to host")[0]));
    CHECK(trace.busy(sim::work_kind::copy) == 2 * machine.how().copy.of(100));
    CHECK(trace.overlap(sim::work_kind::kernel, sim::work_kind::copy) == 5us);
    CHECK(trace.of(machine.number_of(third)).size() == 1);
}

TEST_CASE("a slow call of another thread takes the loop's time, not the loop") {
    event_loop loop(event_loop::virtual_time);
    sim::checked_machine machine;
    device on(machine.driver());
    const CUevent event = on.event();
    machine.drive(loop);
    machine.slow("cuEventQuery", 90us);
    machine.launch(on.stream(), 200us);
    std::thread other([&] {
        on.cuda.cuCtxSetCurrent(on.context);
        CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
        CHECK(machine.now() >= time_point(90us));
    });
    loop.run();
    other.join();
    machine.run();
    CHECK(machine.trace().of(sim::work_kind::kernel)[0].ended == time_point(200us));
}

TEST_CASE("what another thread enqueues reaches the loop, however much it is") {
    event_loop loop(event_loop::virtual_time);
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    machine.drive(loop);
    std::thread([&] {
        on.cuda.cuCtxSetCurrent(on.context);
        for (int times = 0; times < 10; ++times) machine.launch(stream, 1us);
    }).join();
    loop.run();
    CHECK(machine.idle());
    CHECK(machine.now() == time_point(10us));
}

}  // namespace sim_streams_test
