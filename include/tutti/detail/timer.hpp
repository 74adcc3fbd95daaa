// A runnable with a date. The loop keeps timers in a heap and each knows its position, so stopping one is cheap.
#pragma once

#include <tutti/detail/runnable.hpp>
#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class timer_heap;

/// A node of the heap.
class timer_node {
public:
    bool started() const noexcept { return position_ != not_started; }
    time_point when() const noexcept { return when_; }

private:
    friend class timer_heap;
    static constexpr std::size_t not_started = static_cast<std::size_t>(-1);
    std::size_t position_ = not_started;
    std::uint32_t started_in_ = 0;  // the process that started it
    time_point when_{};
    std::uint64_t order_ = 0;  // of starting: of two timers with one date the earlier started fires first
};

class timer : public runnable, public timer_node {
protected:
    ~timer() = default;
};

/// Calls `Member` of `Owner` when it fires.
template <auto Member>
class alarm;

template <class Owner, void (Owner::*Member)() noexcept>
class alarm<Member> final : public timer {
public:
    explicit alarm(Owner& owner) noexcept : owner_(owner) {}
    void run() noexcept override { (owner_.*Member)(); }

private:
    Owner& owner_;
};

}  // namespace detail
}  // namespace tutti
