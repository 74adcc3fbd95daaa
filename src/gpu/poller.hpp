// Finds out, on an event loop, which events the device has come to. With nothing pending it asks nobody and sets no date.
#pragma once

#include "gpu/driver_wakeup.hpp"
#include "gpu/stream_line.hpp"
#include "runtime/poll_source.hpp"
#include "runtime/fine_timer.hpp"

#include <array>
#include <memory>
#include <vector>

namespace tutti::gpu {

/// For watched: a number for work of one sort and size, never 0.
std::uint32_t kind_of(std::uint32_t sort, std::size_t bytes) noexcept;

/// One for each loop and device, destroyed with the loop. Used on its loop only.
///
/// Of each stream only the oldest event is asked for. A sweep asks for all streams, and tells nobody before it is over. How soon the next one
/// comes, device_options say: *hot*, the loop tries again in each of its turns; *warm*, at dates that grow apart; *cold*, a host function
/// behind the oldest events calls, and a date comes after all when it does not. Where time is virtual, and on a guest's loop, hot is warm.
class poller final : detail::poll_source {
public:
    static poller& of(const std::shared_ptr<device_state>& device, event_loop& loop);
    poller(event_loop& loop, const device_options& options);
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller();

    void add(watched& who);
    /// How many wait.
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
    /// When the oldest event of a line will come, as far as it is known; no_deadline otherwise.
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
    const failure* why_ = nullptr;  // with which all from came_well_ on end
    std::size_t came_well_ = 0;
    std::size_t pending_ = 0;
    bool sweeping_ = false;
    bool looking_ = false;  // waits for its next run
    bool calls_wanted_ = false;
    time_point hot_until_{};
    time_point looked_{};  // the last sweep
    time_point news_{};    // the last time something came, or was issued
    time_point next_look_ = no_deadline;
    duration interval_;
    std::array<duration, 256> usual_{};  // of each kind; 0: not known
    detail::callback<&poller::called> called_{*this};
    detail::callback<&poller::dated> dated_{*this};
    fine_timer timer_;
    std::shared_ptr<driver_wakeup> wakeup_;
};

}  // namespace tutti::gpu
