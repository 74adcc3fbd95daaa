// One connect call of a transport: pauses between attempts, ends them at the deadline, and says why there is no link.
#pragma once

#include "transport/backoff.hpp"
#include "transport/wake_call.hpp"

#include <tutti/error.hpp>
#include <tutti/task.hpp>

#include <set>
#include <string>

namespace tutti {

class connect_retry;

/// The connect calls of one transport that are under way, so that closing it ends them.
class connects_under_way {
public:
    void close() noexcept;

private:
    friend class connect_retry;
    std::set<connect_retry*> open_;
    bool closed_ = false;
};

/// Lives in the frame of the transport's `connect` task, on its loop. The transport makes the attempts; this counts them and decides
/// whether there is another.
class connect_retry {
public:
    connect_retry(event_loop& loop, connects_under_way& all, std::string address, time_point deadline, std::uint64_t seed);
    connect_retry(const connect_retry&) = delete;
    connect_retry& operator=(const connect_retry&) = delete;
    ~connect_retry() { all_.open_.erase(this); }

    /// Returns whether there is another attempt.
    bool open() const noexcept { return !ended_; }
    /// An attempt has failed because of `reason`: pauses before the next one. False when there is none.
    task<bool> again(std::string reason, bool nobody_listens);
    task<bool> pause(duration length);
    /// An attempt has failed because of `reason`, as every other one would: ends the call.
    void give_up(std::string reason);

    /// The work that an attempt starts runs this. `worked` waits for it, and is true when it has run before `limit` and the call's
    /// deadline.
    detail::runnable& work() noexcept { return call_; }
    task<bool> worked(time_point limit);

    /// Returns why there is no link.
    failure why() const;

private:
    friend class connects_under_way;
    void end(error code) noexcept {
        if (open()) ended_ = code;
    }

    event_loop& loop_;
    connects_under_way& all_;
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
