// What is behind an event_loop: the queues, the timers, and either an io_context of its own or a place with a host.
#pragma once

#include <tutti/detail/family.hpp>

#include "runtime/asio.hpp"
#include "runtime/timer_heap.hpp"
#include "runtime/work_list.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace tutti {
namespace detail {

/// Makes `event_loop::current()` tell the truth while it lives.
class presence {
public:
    explicit presence(event_loop& loop) noexcept;
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence();

private:
    event_loop* const before_;
};

/// A loop's place in a host program. Shared with the handlers the host's executor holds, which may outlive the loop.
class guest : public std::enable_shared_from_this<guest> {
public:
    guest(event_loop& loop, asio::any_io_executor executor) : loop_(&loop), executor_(std::move(executor)), alarm_(executor_) {}

    const asio::any_io_executor& executor() const noexcept { return executor_; }
    /// Asks the host for a turn, unless one is coming already. The loop's mutex is held.
    void schedule();
    /// Lets the host's clock wake us for the soonest timer.
    void arm();
    void leave() noexcept;

private:
    void turn();

    event_loop* loop_;  // null when it is gone
    const asio::any_io_executor executor_;
    asio::steady_timer alarm_;
    time_point armed_for_ = no_deadline;
    bool scheduled_ = false;  // under the loop's mutex
};

}  // namespace detail

struct event_loop::impl {
    /// Work between two looks at timers and sockets.
    static constexpr int batch = 64;

    // For every thread, under the mutex. Whoever posts wakes the loop before it lets go, so the loop may end right after.
    std::mutex mutex;
    detail::work_list remote;
    bool asleep = false;
    std::atomic<bool> remote_waiting{false};
    std::atomic<bool> stopping{false};

    // For the loop.
    detail::work_list local;
    detail::timer_heap timers;
    bool virtual_time = false;
    time_point virtual_now{};
    std::optional<asio::io_context> io;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> io_work;
    std::shared_ptr<detail::guest> place;
    std::optional<detail::family> residents;  // started from outside of any task, destroyed with the loop

    asio::io_context& own_io();
    bool idle() const noexcept { return local.empty() && !remote_waiting.load(std::memory_order_relaxed); }
    void take_remote() noexcept;
    void wake();
    void run_batch() noexcept;
    void fire_timers(time_point now) noexcept;
    void poll_io(int limit);
    void sleep();
    bool jump();
};

}  // namespace tutti
