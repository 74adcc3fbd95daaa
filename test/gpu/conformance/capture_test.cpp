// Facts about streams that are being captured: what may be called meanwhile, by whom, in which mode.
#include "gpu/conformance/testbed.hpp"

#include <thread>

using namespace tutti;
using test::device;
using test::testbed;

namespace {

CUstreamCaptureStatus status_of(const device& on, CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    CHECK(on.cuda.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
    return status;
}

/// Calls on a thread of its own, with the device current and in this mode.
template <class Calls>
void on_another_thread(const device& on, CUstreamCaptureMode mode, const Calls& calls) {
    std::thread([&] {
        CHECK(on.cuda.cuCtxSetCurrent(on.context) == CUDA_SUCCESS);
        CHECK(on.cuda.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
        CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);  // that of a new thread
        calls();
    }).join();
}

}  // namespace

TEST_CASE("a stream says that it is being captured, and others that they are not") {
    testbed bed;
    device on(bed.cuda());
    const CUstream captured = on.stream(), other = on.stream();
    CHECK(status_of(on, captured) == CU_STREAM_CAPTURE_STATUS_NONE);
    REQUIRE(bed.begin_capture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    CHECK(status_of(on, captured) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(status_of(on, other) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(bed.end_capture(captured) == CUDA_SUCCESS);
    CHECK(status_of(on, captured) == CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_CASE("what is captured is not done") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUdeviceptr memory = on.allocate(8);
    auto* const seen = on.pin<unsigned char>(8);
    CHECK(on.cuda.cuMemsetD8Async(memory, 1, 8, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    REQUIRE(bed.begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemsetD8Async(memory, 2, 8, stream) == CUDA_SUCCESS);
    CHECK(bed.end_capture(stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuMemcpyDtoHAsync(seen, memory, 8, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(seen[7] == 1);
}

TEST_CASE("a thread in another mode than global asks for events while a stream is captured, and breaks nothing") {
    testbed bed;
    device on(bed.cuda());
    const CUstream captured = on.stream(), other = on.stream();
    const CUevent event = on.event();
    CHECK(on.cuda.cuEventRecord(event, other) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(other) == CUDA_SUCCESS);
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        CAPTURE(mode);
        REQUIRE(bed.begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
        on_another_thread(on, mode, [&] {
            CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
            CHECK(on.cuda.cuEventRecord(event, other) == CUDA_SUCCESS);
            CHECK(on.cuda.cuEventSynchronize(event) == CUDA_SUCCESS);
        });
        CHECK(status_of(on, captured) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
        CHECK(bed.end_capture(captured) == CUDA_SUCCESS);
    }
}

TEST_CASE("a thread in global mode that asks for an event breaks a capture in global mode") {
    testbed bed;
    device on(bed.cuda());
    const CUstream captured = on.stream();
    const CUevent event = on.event();
    REQUIRE(bed.begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    on_another_thread(on, CU_STREAM_CAPTURE_MODE_GLOBAL,
                      [&] { bed.provoke([&] { CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); }); });
    CHECK(bed.end_capture(captured) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
}

TEST_CASE("an event that was recorded in a capture cannot be asked for, in any mode, until it is recorded again") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUevent event = on.event();
    REQUIRE(bed.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(bed.end_capture(stream) == CUDA_SUCCESS);
    bed.provoke([&] {
        const CUresult said = on.cuda.cuEventQuery(event);  // the second is what the documents of CUDA say
        CHECK((said == CUDA_ERROR_INVALID_VALUE || said == CUDA_ERROR_CAPTURED_EVENT));
    });
    CHECK(on.cuda.cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventSynchronize(event) == CUDA_SUCCESS);
}
