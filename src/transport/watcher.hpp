// A wait for one direction of a link in memory, or for a link to accept. It stands between the loop and the caller's work. A link that
// closes takes back the posted watcher, and need not know whether that work still exists.
#pragma once

#include "base/check.hpp"

#include <tutti/event_loop.hpp>

#include <utility>

namespace tutti {

/// Owned by its link, or by `arrivals`. `wake` may come from the other end's thread: one lock guards `expect`, `wake` and `disarm`.
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
    bool waits() const noexcept { return armed_; }
    void disarm() noexcept { armed_ = false; }
    /// Calls nothing any more. On the loop, after `disarm`, without the lock.
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
