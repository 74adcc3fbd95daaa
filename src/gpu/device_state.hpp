// What is behind a device: its context, what it shares with streams, events and memory, and whether it still works.
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

/// Where a device's work is done that no caller's loop does: null is a thread of its own for each, begun when it is first needed.
struct device_places {
    event_loop* issuing = nullptr;    // calls of which one at a time may be made for the device
    event_loop* polling = nullptr;    // for poll_mode::thread, and for those who wait without a loop
    event_loop* lifecycle = nullptr;  // calls that block
};

class [[gnu::visibility("hidden")]] device_state final : public std::enable_shared_from_this<device_state> {
public:
    /// The table outlives it.
    static result<std::shared_ptr<device_state>> open(const driver_table& driver, int ordinal, device_options options,
                                                      device_places places);
    device_state(const device_state&) = delete;
    device_state& operator=(const device_state&) = delete;

    const driver_table& driver() const noexcept { return driver_; }
    const identity& who() const noexcept { return who_; }
    int ordinal() const noexcept { return ordinal_; }
    CUcontext context() const noexcept { return context_; }
    const device_options& options() const noexcept { return options_; }

    /// Null as long as the device works; never changes afterwards. Any thread.
    const failure* fault() const noexcept { return fault_.load(std::memory_order_acquire); }
    /// What a call's code means. One that leaves the device of no use is its fault from then on, if it is the first.
    failure failed(std::string_view call, CUresult code);
    /// The device is of no use, whatever the code; gives its first fault.
    const failure& break_down(std::string_view call, CUresult code);
    /// Calls `use` with the device current, unless it is broken. `call` names what it calls.
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
    /// Started when it is first asked for.
    event_loop& issuing() { return issuing_.loop(); }
    event_loop& polling() { return polling_.loop(); }
    /// As whose the issuing loop keeps what it needs for this device; the device itself may be what it keeps other things for.
    const std::shared_ptr<const void>& issuing_mark() const noexcept { return issuing_mark_; }

private:
    device_state(const driver_table& driver, identity who, int ordinal, CUcontext context, device_options options, device_places places);
    ~device_state();
    /// When the last handle is gone.
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

/// A device behind other tables than this process's, or with other places.
result<device> open_device(const driver_table& driver, int ordinal, device_options options = {}, device_places places = {});

}  // namespace tutti::gpu
