// Threads of the library take no signals. Those are for the program's own threads, which wait for them or have handlers.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace tutti {

/// While it lives, this thread takes no signal that is sent to the process, and a thread that it starts meanwhile never does. Faults that a
/// thread commits itself (SIGSEGV and its like) are not blocked: the program's handlers see them.
class signals_blocked {
public:
    signals_blocked() noexcept;
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked();

private:
    sigset_t before_;
};

/// The only kind of thread that the library starts.
class quiet_thread {
public:
    quiet_thread() noexcept = default;
    template <class Body>
    explicit quiet_thread(Body body) {
        const signals_blocked while_it_starts;
        thread_ = std::thread(std::move(body));
    }

    bool joinable() const noexcept { return thread_.joinable(); }
    std::thread::id get_id() const noexcept { return thread_.get_id(); }
    void join() { thread_.join(); }
    void detach() { thread_.detach(); }

private:
    std::thread thread_;
};

}  // namespace tutti
