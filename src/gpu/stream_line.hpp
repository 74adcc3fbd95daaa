// The waiters for events of one stream, in the order in which the device reaches the events. Belongs to a poller.
#pragma once

#include "gpu/event_state.hpp"
#include "gpu/watched.hpp"

#include <cstdint>
#include <vector>

namespace tutti::gpu {

class stream_line {
public:
    explicit stream_line(std::uint64_t number) noexcept : stream(number) {}

    bool empty() const noexcept { return first_ == waiting_.size(); }
    std::size_t size() const noexcept { return waiting_.size() - first_; }
    watched& front() const noexcept { return *waiting_[first_]; }

    void add(watched& who);
    /// Moves the waiters whose events have come to `out`. It takes one query when none have come, about log(n) when n have.
    answer reap(std::vector<watched*>& out);
    /// Moves all waiters to `out`.
    void take(std::vector<watched*>& out);

    const std::uint64_t stream;
    time_point last_came{};
    duration usual{};              // how long events without a kind take; 0: not known
    std::uint64_t called_for = 0;  // the ticket of the event behind which a host function was put
    CUstream notifying = nullptr;  // the stream of that host function

private:
    std::size_t count_ready(bool& broken) const;
    void move_front(std::size_t count, std::vector<watched*>& out);
    event_state& state_of(std::size_t index) const noexcept { return *waiting_[first_ + index]->what().inner(); }

    std::vector<watched*> waiting_;
    std::size_t first_ = 0;
};

}  // namespace tutti::gpu
