// Every rule of the simulated driver, broken once: the sentence that says so.
#include "gpu/broken_rule.hpp"
#include "gpu/device.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <string>

namespace sim_misuse_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::broken_rule;
using test::device;
using test::on_another_thread;

namespace {

const broken_rule<device> broken_rules[] = {
    {"a call without a context",
     [](auto& machine, auto& on) {
         on_another_thread(machine, "poller", [&] {
             CUevent made = nullptr;
             CHECK(on.cuda.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING) == CUDA_ERROR_INVALID_CONTEXT);
         });
     },
     "poller: cuEventCreate without a current context on this thread"},
    {"the context of another device",
     [](auto&, auto& on) {
         const CUstream stream = on.stream();
         CUcontext other = nullptr;
         on.cuda.cuDevicePrimaryCtxRetain(&other, 1);
         on.cuda.cuCtxSetCurrent(other);
         CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_HANDLE);
         on.cuda.cuDevicePrimaryCtxRelease(1);
     },
     "main: cuStreamSynchronize of stream 0 of device 0 while the context of device 1 is current"},
    {"CUDA in a host function",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         on.cuda.cuLaunchHostFunc(
             stream, [](void* cuda) { static_cast<driver_table*>(cuda)->cuCtxSetCurrent(nullptr); }, &on.cuda);
         machine.run();
     },
     "main: cuCtxSetCurrent in a host function: neither CUDA nor NCCL may be called there"},
    {"memory freed while a copy is queued",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         CUdeviceptr memory = 0;
         on.cuda.cuMemAlloc(&memory, 100);
         auto* const host = on.template pin<char>(100);
         on.cuda.cuMemcpyDtoHAsync(host, memory, 100, stream);
         on.cuda.cuMemFree(memory);
         machine.run();
     },
     "main: cuMemFree of 100 bytes that device to host on stream 0 of device 0 still uses\n"
     "device to host on stream 0 of device 0 touches memory that main has freed while it was queued"},
    {"pinned memory freed while a copy is queued",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         void* host = nullptr;
         on.cuda.cuMemHostAlloc(&host, 100, 0);
         on.cuda.cuMemcpyHtoDAsync(on.allocate(100), host, 100, stream);
         on.cuda.cuMemFreeHost(host);
         machine.run();
     },
     "main: cuMemFreeHost of 100 bytes that host to device on stream 0 of device 0 still uses\n"
     "host to device on stream 0 of device 0 touches memory that main has freed while it was queued"},
    {"a kernel on memory that a queued free takes away",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         CUdeviceptr memory = 0;
         on.cuda.cuMemAllocAsync(&memory, 100, stream);
         on.cuda.cuMemFreeAsync(memory, stream);
         machine.launch(stream, 1us, [] { FAIL("it must not run"); }, "kernel", {{memory, 100}});
         machine.run();
     },
     "kernel on stream 0 of device 0 touches memory that main has freed while it was queued"},
    {"memory freed twice",
     [](auto&, auto& on) {
         CUdeviceptr memory = 0;
         on.cuda.cuMemAlloc(&memory, 100);
         on.cuda.cuMemFree(memory);
         CHECK(on.cuda.cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE);
     },
     "main: cuMemFree of memory that main has freed before"},
    {"a copy beyond the end",
     [](auto&, auto& on) {
         auto* const host = on.template pin<char>(100);
         CHECK(on.cuda.cuMemcpyHtoDAsync(on.allocate(99) + 9, host, 91, on.stream()) == CUDA_ERROR_INVALID_VALUE);
     },
     "main: cuMemcpyHtoDAsync with 91 bytes of target where 90 are left"},
    {"an asynchronous copy of pageable memory",
     [](auto& machine, auto& on) {
         char host[8] = {};
         on.cuda.cuMemcpyHtoDAsync(on.allocate(8), host, 8, on.stream());
         machine.run();
     },
     "main: cuMemcpyHtoDAsync with a source in pageable memory: the copy is not asynchronous"},
    {"a copy to host memory that is called the device's",
     [](auto&, auto& on) {
         const auto pinned = reinterpret_cast<CUdeviceptr>(on.template pin<char>(8));
         CHECK(on.cuda.cuMemsetD8Async(pinned, 0, 8, on.stream()) == CUDA_ERROR_INVALID_VALUE);
     },
     "main: cuMemsetD8Async with a target that is host memory"},
    {"a stream that was destroyed",
     [](auto&, auto& on) {
         CUstream stream = nullptr;
         on.cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
         on.cuda.cuStreamDestroy(stream);
         CHECK(on.cuda.cuEventRecord(on.event(), stream) == CUDA_ERROR_INVALID_HANDLE);
     },
     "main: cuEventRecord of stream 0 of device 0, which was destroyed"},
    {"an event that was destroyed",
     [](auto&, auto& on) {
         CUevent event = nullptr;
         on.cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
         on.cuda.cuEventDestroy(event);
         CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_INVALID_HANDLE);
     },
     "main: cuEventQuery of event 0, which was destroyed"},
    {"an event with timing",
     [](auto&, auto& on) {
         CUevent event = nullptr;
         on.cuda.cuEventCreate(&event, CU_EVENT_DEFAULT);
         on.cuda.cuEventDestroy(event);
     },
     "main: cuEventCreate with timing: events that are queried are made without"},
    {"a query in global mode while another thread captures",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         const CUevent event = on.event();
         machine.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
         on_another_thread(machine, "poller", [&] {
             on.cuda.cuCtxSetCurrent(on.context);
             CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
         });
         CHECK(machine.end_capture(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
     },
     "poller: cuEventQuery in global capture mode while another thread captures a stream: that capture is broken; use the thread-local "
     "mode"},
    {"an unsafe call by the thread that captures",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         machine.begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
         CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
         machine.end_capture(stream);
     },
     "main: cuStreamSynchronize is unsafe while this thread captures a stream: the capture is broken"},
    {"a query of a captured event",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream();
         const CUevent event = on.event();
         machine.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
         on.cuda.cuEventRecord(event, stream);
         CHECK(machine.end_capture(stream) == CUDA_SUCCESS);
         CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_INVALID_VALUE);
     },
     "main: cuEventQuery of event 0, which was recorded in a capture"},
    {"the null stream while a stream that waits for it is captured",
     [](auto& machine, auto& on) {
         const CUstream stream = on.stream(CU_STREAM_DEFAULT);
         machine.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
         CHECK(on.cuda.cuEventRecord(on.event(), nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
         machine.end_capture(stream);
     },
     "main: record of an event on the null stream while stream 0 of device 0, which waits for it, is being captured"},
    {"a wait for what never ends",
     [](auto& machine, auto& on) {
         machine.never_call_host_functions();
         const CUstream stream = on.stream();
         on.cuda.cuLaunchHostFunc(
             stream, [](void*) {}, nullptr);
         CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_ERROR_UNKNOWN);
     },
     "main: cuStreamSynchronize on stream 0 of device 0 waits for what never ends"},
    {"a context given back too often", [](auto&, auto& on) { on.cuda.cuDevicePrimaryCtxRelease(1); },
     "main: cuDevicePrimaryCtxRelease of a context that is not retained"},
};

}  // namespace

TEST_CASE("what must not be done with the driver is said in a sentence") {
    for (const broken_rule<device>& rule : broken_rules) {
        CAPTURE(rule.name);
        sim::options how;
        how.devices = 2;
        how.patience = 5ms;
        sim::checked_machine machine(how);
        machine.name_thread("main");
        device on(machine.driver());
        rule.act(machine, on);
        std::string all;
        for (const std::string& each : machine.take_misuse()) all += (all.empty() ? "" : "\n") + each;
        CHECK(all == rule.sentence);
    }
}

TEST_CASE("what is not given back is named at the end") {
    sim::checked_machine machine;
    const driver_table cuda = machine.driver();
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUdeviceptr memory = 0;
    void* pinned = nullptr;
    cuda.cuDevicePrimaryCtxRetain(&context, 0);
    cuda.cuCtxSetCurrent(context);
    cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    cuda.cuMemAlloc(&memory, 10);
    cuda.cuMemHostAlloc(&pinned, 20, 0);
    char mine[30];
    cuda.cuMemHostRegister(mine, 30, 0);
    const std::string wrong = machine.end();
    for (const char* each : {"stream 0 of device 0", "event 0 of device 0", "device memory of 10 bytes", "pinned memory of 20 bytes",
                             "registered memory of 30 bytes", "the context of device 0"})
        CHECK(wrong.find("at the end: " + std::string(each) + " was never given back\n") != std::string::npos);
    cuda.cuCtxSetCurrent(nullptr);
}

}  // namespace sim_misuse_test
