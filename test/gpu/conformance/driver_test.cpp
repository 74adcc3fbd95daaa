// Facts about the driver that the library relies on, seen through the tables alone.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

using namespace tutti;
using test::device;
using test::gate;
using test::testbed;

namespace {

CUevent recorded(device& on, CUstream where) {
    const CUevent made = on.event();
    CHECK(on.cuda.cuEventRecord(made, where) == CUDA_SUCCESS);
    return made;
}
bool ready(const device& on, CUevent event) {
    const CUresult state = on.cuda.cuEventQuery(event);
    CHECK((state == CUDA_SUCCESS || state == CUDA_ERROR_NOT_READY));
    return state == CUDA_SUCCESS;
}

}  // namespace

TEST_CASE("an event that was never recorded is ready, and waiting for it is waiting for nothing") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUevent never = on.event();
    CHECK(ready(on, never));
    CHECK(on.cuda.cuEventSynchronize(never) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamWaitEvent(stream, never, 0) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
}

TEST_CASE("an event is ready when what was enqueued before it has ended, not sooner") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    gate closed(bed, stream);
    const CUevent behind = recorded(on, stream);
    for (int times = 0; times < 100; ++times) CHECK_FALSE(ready(on, behind));
    closed.open();
    CHECK(bed.eventually([&] { return ready(on, behind); }));
    CHECK(on.cuda.cuEventSynchronize(behind) == CUDA_SUCCESS);
}

TEST_CASE("recording an event again makes it stand for the later work") {
    testbed bed;
    device on(bed.cuda());
    const CUstream quick = on.stream(), held = on.stream();
    const CUevent event = recorded(on, quick);
    CHECK(bed.eventually([&] { return ready(on, event); }));
    gate closed(bed, held);
    CHECK(on.cuda.cuEventRecord(event, held) == CUDA_SUCCESS);
    CHECK_FALSE(ready(on, event));
    CHECK(on.cuda.cuEventRecord(event, quick) == CUDA_SUCCESS);
    CHECK(bed.eventually([&] { return ready(on, event); }));
}

TEST_CASE("a wait stands for what the event was when the wait was called") {
    testbed bed;
    device on(bed.cuda());
    const CUstream held = on.stream(), early = on.stream(), late = on.stream();
    const CUevent event = on.event();
    CHECK(on.cuda.cuStreamWaitEvent(early, event, 0) == CUDA_SUCCESS);
    gate closed(bed, held);
    CHECK(on.cuda.cuEventRecord(event, held) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamWaitEvent(late, event, 0) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventRecord(event, early) == CUDA_SUCCESS);  // the wait on late still means the first record
    const CUevent after_early = recorded(on, early), after_late = recorded(on, late);
    CHECK(bed.eventually([&] { return ready(on, after_early); }));
    CHECK_FALSE(ready(on, after_late));
    closed.open();
    CHECK(bed.eventually([&] { return ready(on, after_late); }));
}

TEST_CASE("a stream does not wait for another, nor for the null stream unless it was made to") {
    testbed bed;
    device on(bed.cuda());
    const CUstream apart = on.stream(), held = on.stream(), with_null = on.stream(CU_STREAM_DEFAULT);
    {
        gate closed(bed, held);
        CHECK(bed.eventually([&, event = recorded(on, apart)] { return ready(on, event); }));
        CHECK(bed.eventually([&, event = recorded(on, nullptr)] { return ready(on, event); }));
    }
    gate closed(bed, with_null);
    const CUevent on_null = recorded(on, nullptr);
    CHECK_FALSE(ready(on, on_null));
    CHECK(bed.eventually([&, event = recorded(on, apart)] { return ready(on, event); }));
    closed.open();
    CHECK(bed.eventually([&] { return ready(on, on_null); }));
}

TEST_CASE("host functions are called in the order of their stream, and later work waits for them") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    struct entry {
        std::vector<int>* order;
        int number;
    };
    std::vector<int> order;
    std::array<entry, 20> all;
    gate closed(bed, stream);
    for (int number = 0; number < 20; ++number) {
        all[static_cast<std::size_t>(number)] = {&order, number};
        const auto note = [](void* data) {
            const auto& mine = *static_cast<const entry*>(data);
            mine.order->push_back(mine.number);
        };
        CHECK(on.cuda.cuLaunchHostFunc(stream, note, &all[static_cast<std::size_t>(number)]) == CUDA_SUCCESS);
    }
    const CUevent behind = recorded(on, stream);
    CHECK_FALSE(ready(on, behind));
    closed.open();
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(order.size() == 20);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(ready(on, behind));
}

TEST_CASE("copies and fills follow each other in a stream") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    constexpr std::size_t bytes = 100'000;
    auto* const host = on.pin<unsigned char>(bytes);
    for (std::size_t index = 0; index < bytes; ++index) host[index] = static_cast<unsigned char>(index % 251);
    const CUdeviceptr one = on.allocate(bytes), other = on.allocate(bytes);
    CHECK(on.cuda.cuMemcpyHtoDAsync(one, host, bytes, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemsetD8Async(one + 1000, 255, 500, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyDtoDAsync(other, one + 7, bytes - 7, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyDtoHAsync(host, other, bytes - 7, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < bytes - 7; ++index) {
        const std::size_t from = index + 7;
        wrong += host[index] != (from >= 1000 && from < 1500 ? 255 : from % 251);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a driver knows which memory is a device's, which is pinned, and which it does not know") {
    testbed bed;
    device on(bed.cuda());
    const auto kind_of = [&](const void* where) {
        unsigned kind = 0;
        const CUresult known = on.cuda.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(where));
        return known == CUDA_SUCCESS ? static_cast<int>(kind) : -static_cast<int>(known);
    };
    const CUdeviceptr memory = on.allocate(64);
    CHECK(kind_of(reinterpret_cast<void*>(memory + 63)) == CU_MEMORYTYPE_DEVICE);
    int ordinal = -1;
    CHECK(on.cuda.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory) == CUDA_SUCCESS);
    CHECK(ordinal == 0);
    CHECK(kind_of(on.pin<char>(64)) == CU_MEMORYTYPE_HOST);
    std::vector<char> ordinary(10'000'000);
    CHECK(kind_of(ordinary.data()) == -CUDA_ERROR_INVALID_VALUE);
    CHECK(on.cuda.cuMemHostRegister(ordinary.data(), ordinary.size(), 0) == CUDA_SUCCESS);
    CHECK(kind_of(ordinary.data()) == CU_MEMORYTYPE_HOST);
    CHECK(on.cuda.cuMemHostRegister(ordinary.data(), 1, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(on.cuda.cuMemHostUnregister(ordinary.data()) == CUDA_SUCCESS);
    CHECK(kind_of(ordinary.data()) == -CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a thread has no context until it sets one, and one that is refused does no harm") {
    testbed bed;
    device on(bed.cuda());
    const CUevent event = on.event();
    std::thread([&] {
        CUcontext mine = on.context;
        CHECK(on.cuda.cuCtxGetCurrent(&mine) == CUDA_SUCCESS);
        CHECK(mine == nullptr);
        CUdeviceptr memory = 0;
        bed.provoke([&] { CHECK(on.cuda.cuMemAlloc(&memory, 8) == CUDA_ERROR_INVALID_CONTEXT); });
        CHECK(on.cuda.cuCtxSetCurrent(on.context) == CUDA_SUCCESS);
        CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
    }).join();
    bed.provoke([&] { CHECK(on.cuda.cuMemsetD8Async(0, 0, 8, on.stream()) == CUDA_ERROR_INVALID_VALUE); });
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
}

TEST_CASE("a stream may be destroyed while work is queued: the work is done all the same") {
    testbed bed;
    device on(bed.cuda());
    CUstream stream = nullptr;
    CHECK(on.cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    gate closed(bed, stream);
    const CUevent last = recorded(on, stream);
    CHECK(on.cuda.cuStreamDestroy(stream) == CUDA_SUCCESS);
    CHECK_FALSE(ready(on, last));
    closed.open();
    CHECK(bed.eventually([&] { return ready(on, last); }));
}

TEST_CASE("memory can come and go in the order of a stream") {
    testbed bed;
    if (bed.cuda().cuMemAllocAsync == nullptr || bed.cuda().cuMemFreeAsync == nullptr)
        return test::skip("this driver has no memory in the order of a stream");
    device on(bed.cuda());
    const CUstream stream = on.stream();
    auto* const host = on.pin<unsigned char>(1000);
    for (int times = 0; times < 10; ++times) {
        CUdeviceptr memory = 0;
        CHECK(on.cuda.cuMemAllocAsync(&memory, 1000, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuMemsetD8Async(memory, static_cast<unsigned char>(times), 1000, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuMemcpyDtoHAsync(host, memory, 1000, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        CHECK(std::count(host, host + 1000, static_cast<unsigned char>(times)) == 1000);
    }
}
