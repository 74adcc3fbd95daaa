// Makes a device's context current for some calls, without disturbing a capture.
#pragma once

#include "gpu/tables.hpp"

namespace tutti::gpu {

/// The destructor restores the thread's context, which may be the caller's own, and its capture mode. The mode is relaxed meanwhile: in the global mode
/// a query or an allocation would break another thread's capture of a stream, and in the thread-local mode this thread's.
class on_device {
public:
    on_device(const driver_table& driver, CUcontext context) noexcept : driver_(driver) {
        driver_.cuCtxGetCurrent(&before_);
        if (before_ != context) driver_.cuCtxSetCurrent(context);
        changed_ = before_ != context;
        driver_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device() {
        driver_.cuThreadExchangeStreamCaptureMode(&mode_);
        if (changed_) driver_.cuCtxSetCurrent(before_);
    }

private:
    const driver_table& driver_;
    CUcontext before_ = nullptr;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool changed_ = false;
};

}  // namespace tutti::gpu
