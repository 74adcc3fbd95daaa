// For the checking mode: finds threads that call a communicator's collectives at the same time, which may give ranks different orders.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace tutti::detail {

/// One per group; any thread. communicator/checking.cpp holds a `turn` for the length of each call.
class calls_in_turn {
public:
    /// One call, from its beginning to its end.
    class turn {
    public:
        turn(calls_in_turn& of, std::string call) : of_(of), other_(of.begin(std::move(call))) {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() { of_.end(); }

        /// Returns, in words, the call in which another thread was when this one began.
        const std::optional<std::string>& other() const noexcept { return other_; }

    private:
        calls_in_turn& of_;
        const std::optional<std::string> other_;
    };

private:
    /// Once two threads have called, each call lasts at least this long, so that calls without an order between them are likely to meet.
    static constexpr auto lingering = std::chrono::microseconds(100);

    using thread_id = decltype(std::this_thread::get_id());

    std::optional<std::string> begin(std::string call) {
        const std::lock_guard lock(guard_);
        std::optional<std::string> other;
        const auto me = std::this_thread::get_id();
        if (inside_ > 0 && caller_ != me) other = call_;
        several_ = several_ || (caller_ != thread_id() && caller_ != me);
        ++inside_;
        caller_ = me;
        call_ = std::move(call);
        return other;
    }
    void end() {
        std::unique_lock lock(guard_);
        if (several_) {
            lock.unlock();
            std::this_thread::sleep_for(lingering);
            lock.lock();
        }
        --inside_;
    }

    std::mutex guard_;
    thread_id caller_;  // of the last call
    std::string call_;
    int inside_ = 0;
    bool several_ = false;
};

}  // namespace tutti::detail
