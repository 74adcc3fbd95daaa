// Being on a device for some calls: its context is current, and nobody's capture is disturbed.
#pragma once

#include "gpu/tables.hpp"

namespace tutti::gpu {

/// Puts back what the thread had before, which may be the caller's own context. Queries and allocations by a thread in the global mode would
/// break the capture of a stream that another thread is making, and in the thread's own mode one that this thread is making.
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
