// Lets transports of one process find each other by address, as on a network: the memory and simulated transports.
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

/// Makes the accepting end of a link, on the loop of the transport that accepts.
using link_maker = std::function<std::unique_ptr<link>(event_loop&)>;

/// Links that peers have opened to one transport, which owns it, and that are not accepted yet. `offer` may come from any thread.
class arrivals {
public:
    static constexpr std::size_t limit = 128;  // as a system's queue of connections is limited

    explicit arrivals(event_loop& loop) noexcept : loop_(loop), waiting_(loop) {}
    ~arrivals() { close(); }

    /// Adds a link. Returns false when there is no room, or the transport is closed.
    bool offer(const link_maker& make);
    /// Returns the next link, in order; error::closed after `close`. One caller at a time.
    task<result<std::unique_ptr<link>>> accept();
    void close() noexcept;

private:
    /// Returns the next link; null when there is none.
    std::unique_ptr<link> take();
    /// Posts `work` once, when there is a link to take or never will be.
    void when_any(detail::runnable& work) noexcept;
    void stop_waiting() noexcept;
    bool closed() const;

    event_loop& loop_;
    mutable std::mutex mutex_;
    std::deque<std::unique_ptr<link>> links_;
    watcher waiting_;
    bool closed_ = false;
};

/// The transports of one network, by address. Any thread.
class switchboard {
public:
    explicit switchboard(std::string kind) : kind_(std::move(kind)) {}

    /// Returns a new address: "memory:0", "memory:1" and so on.
    std::string open(arrivals& where);
    void close(const std::string& address);
    /// Makes a link to a transport. Returns an empty text, or the reason why there is none.
    std::string offer(const std::string& address, const link_maker& make);

private:
    const std::string kind_;
    std::mutex mutex_;
    std::map<std::string, arrivals*> open_;
    int opened_ = 0;
};

}  // namespace tutti
