// How the transports of one process find each other: by address, as on a network.
#pragma once

#include "transport/watcher.hpp"

#include <tutti/transport.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tutti {

/// Makes the other end of a link, on that loop.
using link_maker = std::function<std::unique_ptr<link>(event_loop&)>;

/// Links that others opened to one transport and that it has not accepted yet. `offer` may come from any thread.
class arrivals {
public:
    static constexpr std::size_t limit = 128;

    explicit arrivals(event_loop& loop) noexcept : loop_(loop), waiting_(loop) {}
    ~arrivals() { close(); }

    /// False when there is no room, or nobody will accept it.
    bool offer(const link_maker& make);
    /// The next one, in order; error::closed after `close`. One caller at a time.
    task<result<std::unique_ptr<link>>> accept();
    void close() noexcept;

private:
    /// Null when there is none.
    std::unique_ptr<link> take();
    /// Posts `work` once, when there is one to take or never will be.
    void when_any(detail::runnable& work) noexcept;
    void stop_waiting() noexcept;
    bool closed() const;

    event_loop& loop_;
    mutable std::mutex mutex_;
    std::deque<std::unique_ptr<link>> links_;
    watcher waiting_;
    bool closed_ = false;
};

/// Who can be reached. Any thread.
class switchboard {
public:
    explicit switchboard(std::string kind) : kind_(std::move(kind)) {}

    /// An address nobody had before: "memory:0", "memory:1" and so on.
    std::string open(arrivals& where);
    void close(const std::string& address);
    /// Empty when it was made and taken over; else the reason why not.
    std::string offer(const std::string& address, const link_maker& make);

private:
    const std::string kind_;
    std::mutex mutex_;
    std::map<std::string, arrivals*> open_;
    int opened_ = 0;
};

}  // namespace tutti
