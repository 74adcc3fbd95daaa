// Tasks that serve an object for as long as it lives: a listener, a handshake. They handle their errors themselves, and none outlives the
// object.
#pragma once

#include <tutti/task.hpp>

#include <list>

namespace tutti {

/// Used on its loop only; destroyed there, or when no thread runs the loop.
class background final : private detail::task_owner, private detail::runnable {
public:
    explicit background(event_loop& loop) noexcept : loop_(loop) {}
    /// Tasks that have not ended are destroyed where they wait.
    ~background();

    /// Starts a task. The source of `token`, if any, outlives the task.
    void start(task<> work, cancel_token token = {});
    /// Destroys all tasks now. Not from one of them.
    void clear() noexcept;

private:
    void ended(detail::promise_base& work) noexcept override;
    void run() noexcept override;

    event_loop& loop_;
    std::list<task<>> running_;
    bool posted_ = false;
};

}  // namespace tutti
