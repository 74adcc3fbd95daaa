// Several ranks over one simulated network, which may leave without waiting for each other.
#pragma once

#include "support/ranks.hpp"
#include "transport/simulated_transport.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace tutti::test {

inline bool among(const std::vector<rank>& some, rank one) { return std::find(some.begin(), some.end(), one) != some.end(); }

/// With a delay that differs from one time to the next.
inline line_options uneven_line(std::mt19937_64& random) {
    line_options line;
    line.latency = std::chrono::microseconds(random() % 2000);
    line.jitter = 3 * line.latency;
    return line;
}

/// Ranks over one simulated network, each of which leaves when its body returns, and of a job that exits, its context with it.
class job {
public:
    using body = std::function<task<>(std::unique_ptr<communicator>)>;

    explicit job(std::uint64_t seed = 1, line_options line = {}, bool exits = false) : network(seed, line), exits_(exits) {}

    void run(int size, const body& each) {
        std::vector<task<>> all;
        for (rank me = 0; me < size; ++me) {
            homes_.push_back(std::make_unique<context>(loop, std::make_unique<simulated_transport>(loop, network)));
            all.push_back(one(homes_.back(), world_of(me, size), each));
        }
        tutti::run(loop, when_all(std::move(all)));
    }

    event_loop loop{event_loop::virtual_time};
    simulated_network network;

private:
    task<> one(std::unique_ptr<context>& home, world who, const body& each) {
        auto joining = home->join(who, memory_store(table_));
        auto all = co_await std::move(joining);
        auto work = each(std::move(all));
        co_await std::move(work);
        if (exits_) home.reset();
    }

    const bool exits_;
    memory_table table_;
    std::deque<std::unique_ptr<context>> homes_;
};

/// Rank 1 of 8 says nothing any more, and nothing reaches it, as if it were stopped.
inline void silence_rank_1(simulated_network& network) {
    line_options silence;
    silence.latency = std::chrono::hours(1);
    for (const rank neighbour : {0, 3, 4}) {
        network.set(1, neighbour, silence);
        network.set(neighbour, 1, silence);
    }
}

}  // namespace tutti::test
