// Somebody who is told when the device has come to an event.
#pragma once

#include <tutti/error.hpp>
#include <tutti/gpu/event.hpp>
#include <tutti/types.hpp>

#include <cstdint>

namespace tutti::gpu {

/// Given to a poller it stays alive until it is told.
class watched {
public:
    /// Of work of one kind the poller learns how long it takes, and of a stream's events of kind 0, which is none. `kind_of` makes numbers.
    explicit watched(event what, std::uint32_t kind = 0) noexcept : what_(std::move(what)), kind_(kind) {}

    const event& what() const noexcept { return what_; }
    std::uint32_t kind() const noexcept { return kind_; }
    /// When the poller was given it.
    time_point issued() const noexcept { return issued_; }
    void issue(time_point now) noexcept { issued_ = now; }

    /// Who has been told holds the device no longer.
    void let_go() noexcept { what_ = event(); }
    /// On the poller's loop, once, behind the sweep. `why` is null when the device has come there.
    virtual void came(const failure* why) noexcept = 0;
    /// Instead of that: the loop ends first. What the device may still use stays as it is.
    virtual void forsaken() noexcept = 0;

protected:
    ~watched() = default;

private:
    event what_;
    std::uint32_t kind_;
    time_point issued_{};
};

}  // namespace tutti::gpu
