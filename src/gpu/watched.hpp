// The interface through which a poller reports that the device has reached an event.
#pragma once

#include <tutti/error.hpp>
#include <tutti/gpu/event.hpp>
#include <tutti/types.hpp>

#include <cstdint>

namespace tutti::gpu {

/// A waiter for one event: an arrival, or an operation of a device_engine. Its owner keeps it alive until the poller has called `came` or `forsaken`.
class watched {
public:
    /// `kind` comes from `kind_of`: the poller learns how long work of each kind takes, and for kind 0, which is none, how long each stream takes.
    explicit watched(event what, std::uint32_t kind = 0) noexcept : what_(std::move(what)), kind_(kind) {}

    const event& what() const noexcept { return what_; }
    std::uint32_t kind() const noexcept { return kind_; }
    /// Returns when it was given to the poller.
    time_point issued() const noexcept { return issued_; }
    void issue(time_point now) noexcept { issued_ = now; }

    /// Releases the event, and with it the device, before `came` is called.
    void let_go() noexcept { what_ = event(); }
    /// Called on the poller's loop, once, after the sweep. `why` is null when the device has reached the event.
    virtual void came(const failure* why) noexcept = 0;
    /// Called instead when the loop ends first. The memory that the device may still use must be kept.
    virtual void forsaken() noexcept = 0;

protected:
    ~watched() = default;

private:
    event what_;
    std::uint32_t kind_;
    time_point issued_{};
};

}  // namespace tutti::gpu
