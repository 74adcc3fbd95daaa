// Who waits for one direction of a link in memory. It stands between the loop and the caller's work, so that closing the link can take
// back what is already posted without knowing whether that work still exists.
#pragma once

#include "base/check.hpp"

#include <tutti/event_loop.hpp>

#include <utility>

namespace tutti {

/// `wake` may come from the other end's thread: whoever owns both ends guards `expect`, `wake` and `disarm` with one lock.
class watcher final : detail::runnable {
public:
    explicit watcher(event_loop& loop) noexcept : loop_(loop) {}
    ~watcher() { forget(); }

    /// On the loop.
    void expect(detail::runnable& work) noexcept {
        TUTTI_CHECK(work_ == nullptr, "one watcher of each direction at a time");
        work_ = &work;
        armed_ = true;
    }
    void wake() noexcept {
        if (std::exchange(armed_, false)) loop_.post(*this);
    }
    void disarm() noexcept { armed_ = false; }
    /// On the loop, after `disarm`, without the lock: nothing is called any more.
    void forget() noexcept {
        if (std::exchange(work_, nullptr) != nullptr) loop_.withdraw(*this);
    }

private:
    void run() noexcept override { std::exchange(work_, nullptr)->run(); }  // which may destroy the link and this

    event_loop& loop_;
    detail::runnable* work_ = nullptr;
    bool armed_ = false;
};

}  // namespace tutti
