// A timer that is exact to some tens of microseconds; the loop's own timers may be a millisecond late. Setting it costs a system call.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/detail/timer.hpp>
#include <tutti/event_loop.hpp>

#include <memory>
#include <optional>

namespace tutti {

/// Used on its loop only. With virtual time it is a timer of the loop.
class fine_timer final {
public:
    /// The timer calls work.run() on the loop when it is due.
    fine_timer(event_loop& loop, detail::runnable& work) noexcept : loop_(loop), work_(work) {}
    fine_timer(const fine_timer&) = delete;
    fine_timer& operator=(const fine_timer&) = delete;
    ~fine_timer();

    /// Sets the timer anew; an earlier setting is void.
    void start(time_point when);
    void stop() noexcept;
    /// Returns no_deadline when the timer is stopped or has fired.
    time_point when() const noexcept { return when_; }

private:
    void due() noexcept;
    void come() noexcept { work_.run(); }

    event_loop& loop_;
    detail::runnable& work_;
    time_point when_ = no_deadline;
    detail::callback<&fine_timer::come> come_{*this};
    detail::alarm<&fine_timer::due> alarm_{*this};  // of virtual time
    std::optional<asio::steady_timer> clock_;       // of real time
    std::shared_ptr<fine_timer*> self_;             // for the clock's handlers, which may outlive this
};

}  // namespace tutti
