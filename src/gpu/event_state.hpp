// The inside of an `event`: an event of the driver, taken from the device's pool until the last reference is gone.
#pragma once

#include "gpu/device_state.hpp"

#include <tutti/detail/promise.hpp>
#include <tutti/gpu/event.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace tutti::gpu {

enum class answer { ready, pending, broken };

class [[gnu::visibility("hidden")]] event_state final {
public:
    static void* operator new(std::size_t bytes) { return detail::allocate_frame(bytes); }
    static void operator delete(void* place, std::size_t bytes) noexcept { detail::recycle_frame(place, bytes); }

    /// Begins with one reference. The device reaches the events of one stream in the order of their tickets.
    event_state(std::shared_ptr<device_state> card, CUevent mine, std::uint64_t recorded_on, std::uint64_t ticket_number) noexcept
        : handle(mine),
          stream(recorded_on),
          ticket(ticket_number),
          card_(std::move(card)) {}

    const std::shared_ptr<device_state>& card() const noexcept { return card_; }
    /// Asks the driver, with the device current, unless the event is known to be ready. On an error, `broken`, the device has its fault.
    answer ask() noexcept;
    /// Returns whether the device is known to have reached the event.
    bool came() const noexcept { return came_.load(std::memory_order_acquire); }

    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    const CUevent handle;
    const std::uint64_t stream;
    const std::uint64_t ticket;

private:
    ~event_state() { card_->events().give(handle); }

    std::shared_ptr<device_state> card_;
    std::atomic<std::uint32_t> references_{1};
    std::atomic<bool> came_{false};
};

}  // namespace tutti::gpu
