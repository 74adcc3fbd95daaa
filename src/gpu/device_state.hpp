// The inside of a `device`: its context, the things that its streams, events and memory share, and its fault.
#pragma once

#include "gpu/event_pool.hpp"
#include "gpu/identity.hpp"
#include "gpu/lifecycle.hpp"
#include "gpu/on_device.hpp"
#include "gpu/stream_shelf.hpp"
#include "gpu/workplace.hpp"

#include <tutti/gpu/device.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace tutti::gpu {

/// The loops for a device's work outside of the caller's loop, for tests. Null: a thread of its own for each, begun when it is first needed.
struct device_places {
    event_loop* issuing = nullptr;    // NCCL's calls, of which a device allows one at a time
    event_loop* polling = nullptr;    // for poll_mode::thread, and for threads that wait without a loop
    event_loop* lifecycle = nullptr;  // calls that block
};

class [[gnu::visibility("hidden")]] device_state final : public std::enable_shared_from_this<device_state> {
public:
    /// Opens a device. The table must outlive the state.
    static result<std::shared_ptr<device_state>> open(const driver_table& driver, int ordinal, device_options options,
                                                      device_places places);
    device_state(const device_state&) = delete;
    device_state& operator=(const device_state&) = delete;

    const driver_table& driver() const noexcept { return driver_; }
    const identity& who() const noexcept { return who_; }
    int ordinal() const noexcept { return ordinal_; }
    CUcontext context() const noexcept { return context_; }
    const device_options& options() const noexcept { return options_; }

    /// Returns the first fault; null as long as the device works. It never changes afterwards. Any thread.
    const failure* fault() const noexcept { return fault_.load(std::memory_order_acquire); }
    /// Returns the failure for a call's code. A code after which no call can succeed becomes the device's fault, if it is the first.
    failure failed(std::string_view call, CUresult code);
    /// Declares the device broken whatever the code is, and returns its first fault.
    const failure& break_down(std::string_view call, CUresult code);
    /// Calls `use` with the device current, unless the device is broken. `call` names the driver's function for messages.
    template <class Use>
    result<> call(std::string_view call, Use use) {
        if (const failure* why = fault()) return *why;
        const on_device here(driver_, context_);
        const CUresult code = use(driver_);
        if (code != CUDA_SUCCESS) return failed(call, code);
        return {};
    }

    event_pool& events() noexcept { return events_; }
    stream_shelf& notifying() noexcept { return notifying_; }
    gpu::lifecycle& lifecycle() noexcept { return *lifecycle_; }
    /// Returns a loop, and starts its thread at the first call.
    event_loop& issuing() { return issuing_.loop(); }
    event_loop& polling() { return polling_.loop(); }
    /// Returns the key of the issuing loop's loop-local values for this device (its issuer). The device itself is the key of its pollers.
    const std::shared_ptr<const void>& issuing_mark() const noexcept { return issuing_mark_; }

private:
    device_state(const driver_table& driver, identity who, int ordinal, CUcontext context, device_options options, device_places places);
    ~device_state();
    /// Ends the threads and frees everything on the lifecycle's thread, when the last handle is gone.
    static void retire(device_state* state);

    const driver_table& driver_;
    const identity who_;
    const int ordinal_;
    const CUcontext context_;
    const device_options options_;
    std::atomic<const failure*> fault_{nullptr};
    std::mutex breaking_;
    std::optional<failure> first_fault_;
    event_pool events_;
    stream_shelf notifying_;
    workplace issuing_, polling_;
    const std::shared_ptr<const void> issuing_mark_ = std::make_shared<char>();
    std::shared_ptr<gpu::lifecycle> lifecycle_;
};

/// Opens a device with other tables than this process's, or with given loops. For tests.
result<device> open_device(const driver_table& driver, int ordinal, device_options options = {}, device_places places = {});

}  // namespace tutti::gpu
