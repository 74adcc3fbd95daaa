// One connect call: it is tried again and again, and when that ends without a link it tells why.
#pragma once

#include "transport/backoff.hpp"
#include "transport/wake_call.hpp"

#include <tutti/error.hpp>
#include <tutti/task.hpp>

#include <set>
#include <string>

namespace tutti {

class attempts;

/// The connect calls of one transport that are under way, so that closing it ends them.
class open_attempts {
public:
    void close() noexcept;

private:
    friend class attempts;
    std::set<attempts*> open_;
    bool closed_ = false;
};

class attempts {
public:
    attempts(event_loop& loop, open_attempts& all, std::string address, time_point deadline, std::uint64_t seed);
    attempts(const attempts&) = delete;
    attempts& operator=(const attempts&) = delete;
    ~attempts() { all_.open_.erase(this); }

    /// Whether it is worth trying at all.
    bool open() const noexcept { return !ended_; }
    /// The last attempt failed because of `reason`. Waits; false when there is no other attempt.
    task<bool> again(std::string reason, bool nobody_listens);
    task<bool> pause(duration length);
    /// The last attempt failed because of `reason`, as every other one would.
    void give_up(std::string reason);

    /// For an attempt that waits itself, until its work is done (true), its own time is up, or that of this call.
    detail::runnable& work() noexcept { return call_; }
    task<bool> worked(time_point limit);

    /// Why there is no link.
    failure why() const;

private:
    friend class open_attempts;
    void end(error code) noexcept {
        if (open()) ended_ = code;
    }

    event_loop& loop_;
    open_attempts& all_;
    const std::string address_;
    const time_point begin_;
    const time_point deadline_;
    backoff pauses_;
    wake_call call_;
    int count_ = 0;
    std::string reason_;
    bool nobody_listens_ = false;
    std::error_code ended_;
};

}  // namespace tutti
