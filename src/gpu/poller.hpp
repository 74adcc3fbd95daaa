// Finds out, on an event loop, which events a device has reached. With nothing pending it asks nothing and sets no timer.
#pragma once

#include "gpu/driver_wakeup.hpp"
#include "gpu/stream_line.hpp"
#include "runtime/fine_timer.hpp"
#include "runtime/poll_source.hpp"

#include <array>
#include <memory>
#include <vector>

namespace tutti::gpu {

/// Returns a number, never 0, for work of one sort and about one size, for `watched`.
std::uint32_t kind_of(std::uint32_t sort, std::size_t bytes) noexcept;

/// One for each loop and device, a loop-local value that is destroyed with the loop, and used on its loop only. device_engine and arrival give it
/// `watched` objects. It never waits for the device.
///
/// It asks the driver only for the oldest event of each stream. A sweep asks for all streams first and tells the waiters afterwards, since a waiter may
/// add streams. device_options::polling says how soon the next sweep comes. *Hot*: in the loop's next turn. *Warm*: after intervals that grow. *Cold*: when
/// a host function behind the oldest events calls, or after 10 ms in case it does not. In virtual time and on guest loops, hot is warm.
class poller final : detail::poll_source {
public:
    static poller& of(const std::shared_ptr<device_state>& device, event_loop& loop);
    poller(event_loop& loop, const device_options& options);
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller();

    void add(watched& who);
    /// Returns the number of waiters.
    std::size_t pending() const noexcept { return pending_; }

private:
    void run() noexcept override;
    void arm() override;

    void sweep();
    void learn(stream_line& line, std::size_t came_before);
    void tell() noexcept;
    void look_again();
    void rest() noexcept;
    void fail_all();

    bool hot(time_point now) const;
    /// Returns when the oldest event of a line is expected; no_deadline when that is not known.
    time_point predicted(const stream_line& line) const;
    time_point next_date(time_point now);
    void ask_for_calls();
    void ask_for_call(stream_line& line);
    void called() noexcept;
    void dated() noexcept;

    stream_line& line_of(std::uint64_t stream);

    const device_options options_;
    std::shared_ptr<device_state> device_;  // while anything is pending
    std::vector<stream_line> lines_;
    std::vector<watched*> came_, told_;
    const failure* why_ = nullptr;  // the failure of all waiters from came_well_ on
    std::size_t came_well_ = 0;
    std::size_t pending_ = 0;
    bool sweeping_ = false;
    bool looking_ = false;  // waits for its next run
    bool calls_wanted_ = false;
    time_point hot_until_{};
    time_point looked_{};  // the last sweep
    time_point news_{};    // the last time at which an event came or a waiter was added
    time_point next_look_ = no_deadline;
    duration interval_;
    std::array<duration, 256> usual_{};  // by kind: how long its work takes; 0: not known
    detail::callback<&poller::called> called_{*this};
    detail::callback<&poller::dated> dated_{*this};
    fine_timer timer_;
    std::shared_ptr<driver_wakeup> wakeup_;
};

}  // namespace tutti::gpu
