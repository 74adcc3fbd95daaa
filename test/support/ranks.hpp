// Several ranks in one process, on one loop of virtual time, each with a context of its own over a shared network.
#pragma once

#include "transport/memory_transport.hpp"

#include <tutti/context.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/store.hpp>
#include <tutti/when_all.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace tutti::test {

using rank_body = std::function<task<>(communicator&)>;

/// Makes the transport of the next rank.
using make_transport = std::function<std::unique_ptr<transport>(event_loop&)>;

/// Returns the world of a job whose ranks are all on this host.
inline world world_of(rank me, int size) {
    world who;
    who.me = me;
    who.size = size;
    who.master_address = "127.0.0.1";
    who.local_size = size;
    return who;
}

/// So that vectors of some thousand bytes have several slices.
inline context_options slices_of(std::size_t slice_bytes) {
    context_options options;
    options.slice_bytes = slice_bytes;
    options.small_bytes = 1000;
    return options;
}

namespace detail {

inline task<> one_rank(context& home, rank me, int size, std::shared_ptr<store> meeting, const rank_body& body) {
    auto joining = home.join(world_of(me, size), std::move(meeting));
    const auto all = co_await std::move(joining);
    auto work = body(*all);
    co_await std::move(work);
    try {
        auto closing = all->close();
        co_await std::move(closing);
    } catch (const failure&) {
        // The communicator has failed, and the body has seen it in its own way.
    }
}

}  // namespace detail

/// Returns the options of each rank.
using make_options = std::function<context_options(rank)>;

/// Runs `body` on every rank until all have closed; the first error is thrown.
inline void run_ranks(event_loop& loop, int size, const make_transport& make, const rank_body& body, const make_options& options) {
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> all;
    for (rank me = 0; me < size; ++me) {
        homes.push_back(std::make_unique<context>(loop, make(loop), options(me)));
        all.push_back(detail::one_rank(*homes.back(), me, size, memory_store(table), body));
    }
    run(loop, when_all(std::move(all)));
}
inline void run_ranks(event_loop& loop, int size, const make_transport& make, const rank_body& body, context_options options = {}) {
    run_ranks(loop, size, make, body, [&options](rank) { return options; });
}

/// Over memory, in virtual time.
inline void run_ranks(int size, const rank_body& body, context_options options = {}) {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    run_ranks(loop, size, [&network](event_loop& on) { return std::make_unique<memory_transport>(on, network); }, body, options);
}

}  // namespace tutti::test
