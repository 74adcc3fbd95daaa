// Streams being captured: what is enqueued there is thrown away, and what must not be called meanwhile is found.
#include "gpu/sim/call.hpp"
#include "gpu/sim/stand_alone.hpp"

namespace tutti::gpu::sim {

CUresult machine::begin_capture(CUstream where, CUstreamCaptureMode mode) {
    call here("cuStreamBeginCapture");
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(where);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (found->capture || here.home().null_stream == found) return CUDA_ERROR_ILLEGAL_STATE;
    found->capture = capture{mode, std::this_thread::get_id(), false};
    return CUDA_SUCCESS;
}

CUresult machine::end_capture(CUstream where) {
    call here("cuStreamEndCapture");
    if (!here) return here.driver_error();
    stream* const found = here.stream_of(where);
    if (found == nullptr || !found->capture) return CUDA_ERROR_ILLEGAL_STATE;
    const bool broken = found->capture->broken;
    found->capture.reset();
    return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

// As cuThreadExchangeStreamCaptureMode tells it.
const char* machine::state::captured_elsewhere() {
    const CUstreamCaptureMode mode = self().capture_mode;
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return nullptr;
    for (const auto& each : streams) {
        if (!each->capture || each->destroyed) continue;
        const bool own = each->capture->thread == std::this_thread::get_id();
        const bool forbidden = own ? each->capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                   : mode == CU_STREAM_CAPTURE_MODE_GLOBAL && each->capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbidden) continue;
        each->capture->broken = true;
        return own ? "is unsafe while this thread captures a stream: the capture is broken"
                   : "in global capture mode while another thread captures a stream: that capture is broken; use the thread-local mode";
    }
    return nullptr;
}

}  // namespace tutti::gpu::sim

using namespace tutti::gpu::sim;

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    call here("cuStreamIsCapturing");
    if (!here) return here.driver_error();
    const stream* const found = here.stream_of(handle);
    if (found == nullptr || status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = !found->capture          ? CU_STREAM_CAPTURE_STATUS_NONE
              : found->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    call here("cuThreadExchangeStreamCaptureMode", call::nothing);
    if (!here) return here.driver_error();
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::swap(here->self().capture_mode, *mode);
    return CUDA_SUCCESS;
}

// For those who take the simulator for a driver.
CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
    return machine_or_stand_alone().begin_capture(handle, mode);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph* captured) {
    if (captured == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *captured = nullptr;
    return machine_or_stand_alone().end_capture(handle);
}
