// One direction between two simulated ranks: bytes leave at the line's rate and arrive after its latency, in order.
#pragma once

#include "transport/byte_queue.hpp"
#include "transport/watcher.hpp"

#include <tutti/detail/timer.hpp>
#include <tutti/event_loop.hpp>

#include <deque>
#include <random>

namespace tutti {

/// The properties of a line between two ranks.
struct line_options {
    duration latency = std::chrono::microseconds{50};
    duration jitter{};                    // at most so much is added to each latency, at random; the order is kept
    double bytes_per_second = 1e9;        // 0: without a limit
    std::size_t window_bytes = 64 * KiB;  // sent and not yet received
    bool partial_moves = true;            // a try moves a random number of the bytes that it could move, at least 1
};

/// The network's random numbers, and its history: a running hash over every event and its time.
class simulated_history {
public:
    enum event : std::uint64_t { connected, sent, received, arrived, ended, closed, broken };

    explicit simulated_history(std::uint64_t seed) : random_(seed) {}

    /// Returns a random number from 0 to `most`.
    std::uint64_t up_to(std::uint64_t most) { return random_() % (most + 1); }
    void note(time_point when, event what, std::uint64_t line, std::uint64_t bytes = 0) noexcept;
    std::uint64_t hash() const noexcept { return hash_; }

private:
    std::mt19937_64 random_;
    std::uint64_t hash_ = 14695981039346656037u;
};

/// Owned by the channel of its two links, on the network's loop.
class simulated_line {
public:
    simulated_line(event_loop& loop, simulated_history& history, line_options options, std::uint64_t name);
    ~simulated_line() { loop_.stop_timer(arrival_); }

    std::size_t send(std::span<const std::span<const std::byte>> parts);
    std::size_t recv(std::span<const std::span<std::byte>> parts);
    /// The sender closes: the end of the stream travels behind the bytes.
    void end();
    /// Drops the bytes under way, and wakes both ends.
    void cut() noexcept;

    std::size_t room() const noexcept { return bytes_.room(); }
    std::size_t arrived_bytes() const noexcept { return arrived_; }
    /// Returns whether the end of the stream has arrived.
    bool ended() const noexcept { return ended_; }
    void set(const line_options& options) noexcept { options_ = options; }

    // Null while the end is closed.
    watcher* sender = nullptr;
    watcher* receiver = nullptr;
    watcher** back = nullptr;  // the sender of the receiving end: it hears of the end, too

private:
    struct segment {
        time_point arrival;
        std::size_t bytes;  // 0: the end of the stream
    };

    std::size_t part_of(std::size_t possible);
    void depart(std::size_t bytes);
    void arrive() noexcept;

    event_loop& loop_;
    simulated_history& history_;
    line_options options_;
    const std::uint64_t name_;
    byte_queue bytes_;  // under way and arrived
    std::size_t arrived_ = 0;
    bool ended_ = false;
    std::deque<segment> segments_;  // at most one for each byte of the window
    time_point free_at_{};
    time_point last_arrival_{};
    detail::alarm<&simulated_line::arrive> arrival_{*this};
};

}  // namespace tutti
