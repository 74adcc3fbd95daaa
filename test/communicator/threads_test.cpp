// Ranks whose bulk lanes are spread over threads, and how their communicators end in the middle of that: over sockets and shared memory.
#include "support/allocations.hpp"
#include "support/failures.hpp"
#include "support/rank_threads.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <optional>
#include <random>
#include <thread>

namespace threads_test {

using namespace tutti;
using namespace std::chrono_literals;

namespace {

struct row {
    const char* name;
    transport_kind kind;
    int lanes, threads;
};
constexpr row ways[] = {{"tcp, 2 lanes, 2 threads", transport_kind::tcp, 2, 2},
                        {"tcp, 4 lanes, 3 threads", transport_kind::tcp, 4, 3},
                        {"shm, 2 lanes, 2 threads", transport_kind::shm, 2, 2},
                        {"shm, 3 lanes, 3 threads", transport_kind::shm, 3, 3}};

using ending = void (*)(std::unique_ptr<communicator>& world, std::optional<future<>>& called);

struct early_end {
    const char* name;
    error code;  // for the others
    ending end;
};
constexpr early_end endings[] = {
    {"a future is dropped", error::cancelled, [](std::unique_ptr<communicator>&, std::optional<future<>>& called) { called.reset(); }},
    {"a future is cancelled", error::cancelled, [](std::unique_ptr<communicator>&, std::optional<future<>>& called) { called->cancel(); }},
    {"the communicator is aborted", error::aborted,
     [](std::unique_ptr<communicator>& world, std::optional<future<>>&) { world->abort("enough"); }},
    {"the communicator is destroyed", error::aborted,
     [](std::unique_ptr<communicator>& world, std::optional<future<>>&) { world.reset(); }},
};

task<std::unique_ptr<communicator>> join(context& home, rank me, int size, memory_table& table) {
    auto joining = home.join(test::world_of(me, size), memory_store(table));
    co_return co_await std::move(joining);
}

/// Rank 0 ends in the middle of an operation; from then on its memory is its own.
task<> end_early(context& home, int size, memory_table& table, const early_end& how, std::uint64_t some, std::atomic<bool>& ended) {
    auto joining = join(home, 0, size, table);
    auto world = co_await std::move(joining);
    std::vector<float> data(1 << 20, 1);
    co_await world->all_reduce(data, sum);
    std::optional<future<>> called(world->all_reduce(data, sum));
    for (std::uint64_t turn = some % 500; turn > 0; --turn) std::this_thread::yield();
    how.end(world, called);
    ended = true;
    if (called) {
        try {
            co_await std::move(*called);
        } catch (const failure& why) {
            CHECK(why.code() == how.code);
        }
    }
    std::fill(data.begin(), data.end(), 77.0f);
    for (int turn = 0; turn < 200; ++turn) std::this_thread::yield();
    CHECK(data == std::vector<float>(1 << 20, 77.0f));
}

/// `ended`: when this rank makes the call that rank 0 ends; null: whenever.
task<> see_the_end(context& home, rank me, int size, memory_table& table, const early_end& how, std::atomic<int>& told,
                   const std::atomic<bool>* ended) {
    auto joining = join(home, me, size, table);
    const auto world = co_await std::move(joining);
    std::vector<float> data(1 << 20, 1);
    try {
        for (;;) {
            co_await world->all_reduce(data, sum);
            while (ended && !*ended) std::this_thread::yield();
        }
    } catch (const failure& why) {
        // Where the operation had ended before rank 0 came to end it, rank 0 has left.
        CHECK((why.code() == how.code || why.code() == error::peer_left));
        told += why.code() == how.code ? 1 : 0;
        CHECK(why.details().root == 0);
    }
}

}  // namespace

TEST_CASE("an operation that ends early lets go of memory at which other threads work, and all ranks hear why") {
    for (const row& way : ways)
        for (const early_end& how : endings) {
            std::atomic<int> told{0};
            for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
                CAPTURE(way.name);
                CAPTURE(how.name);
                CAPTURE(seed);
                std::mt19937_64 random{seed};
                const int size = 2 + static_cast<int>(seed % 2);
                memory_table table;
                std::atomic<bool> ended{false};
                test::on_threads(size, [&](rank me) {
                    context_options options;
                    options.transport = way.kind;
                    options.lanes = way.lanes;
                    options.threads = way.threads;
                    context home(options);
                    event_loop loop;
                    if (me == 0) run(loop, end_early(home, size, table, how, seed == 1 ? 0 : random(), ended));
                    else run(loop, see_the_end(home, me, size, table, how, told, seed == 1 ? &ended : nullptr));
                });
            }
            CHECK(told > 0);
        }
}

namespace {

/// Each thread of a rank exchanges messages of its own with that of the other rank, without a loop.
void exchange_by_threads(communicator& world) {
    test::on_threads(3, [&world](int number) {
        const auto tag = static_cast<message_tag>(number);
        const rank other = 1 - world.rank();
        for (int turn = 0; turn < 200; ++turn) {
            int mine = turn, theirs = -1;
            future<received> coming = world.recv(std::span(&theirs, 1), other, tag);
            world.send(std::span<const int>(&mine, 1), other, tag).get();
            std::move(coming).get();
            CHECK(theirs == turn);
        }
    });
}

/// Each thread of a rank has a child of its own and sums over that, without a loop.
void collect_by_threads(std::vector<std::unique_ptr<communicator>>& children) {
    test::on_threads(static_cast<int>(children.size()), [&children](int number) {
        communicator& child = *children[static_cast<std::size_t>(number)];
        const int factor = number + 1;
        for (int turn = 0; turn < 200; ++turn) {
            std::vector<int> data(turn % 20 == 0 ? 100'000 : 3, factor * (turn + child.rank()));
            child.all_reduce(data, sum).get();
            if (data.front() != factor * (2 * turn + 1) || data.back() != data.front())
                FAIL_CHECK("a sum of turn ", turn, " is ", data.front());
        }
    });
}

task<std::vector<std::unique_ptr<communicator>>> make_children(communicator& world) {
    std::vector<std::unique_ptr<communicator>> children;
    for (int number = 0; number < 3; ++number) {
        auto splitting = world.split(0, 0);
        children.push_back(co_await std::move(splitting));
    }
    co_return children;
}

task<> leave(std::unique_ptr<communicator> world) { co_await world->close(); }

}  // namespace

TEST_CASE("threads without a loop sum over children of one communicator at the same time") {
    for (const transport_kind kind : {transport_kind::tcp, transport_kind::shm}) {
        memory_table table;
        test::on_threads(2, [&](rank me) {
            context_options options;
            options.transport = kind;
            context home(options);
            event_loop loop;
            auto world = run(loop, join(home, me, 2, table));
            auto children = run(loop, make_children(*world));
            collect_by_threads(children);
            for (auto& child : children) run(loop, leave(std::move(child)));
            run(loop, leave(std::move(world)));
        });
    }
}

TEST_CASE("threads without a loop exchange messages while another one makes progress") {
    memory_table table;
    test::on_threads(2, [&table](rank me) {
        context_options options;
        options.transport = transport_kind::tcp;
        context home(options);
        event_loop loop;
        auto world = run(loop, join(home, me, 2, table));
        exchange_by_threads(*world);
        run(loop, leave(std::move(world)));
    });
}

TEST_CASE("a number of threads that cannot be is refused, and a loop of the user's has none") {
    struct refused {
        int threads;
        bool embedded;
        const char* cause;
    };
    for (const refused& each : {refused{0, false, "threads are 1 to 8, these are 0"}, refused{-1, true, "threads are 1 to 8, these are -1"},
                                refused{9, false, "threads are 1 to 8, these are 9"},
                                refused{2, true, "a context on a loop of its user has no threads of its own, and no 2 of them"}}) {
        CAPTURE(each.threads);
        event_loop loop;
        memory_table table;
        context_options options;
        options.threads = each.threads;
        std::optional<context> home;
        if (each.embedded) home.emplace(loop, nullptr, options);
        else home.emplace(options);
        try {
            run(loop, join(*home, 0, 1, table));
            FAIL("it joined");
        } catch (const failure& why) {
            CHECK(why.code() == error::invalid_argument);
            CHECK(why.details().cause == each.cause);
        }
    }
}

TEST_CASE("a context that finds no memory for its threads is not made, ends those it has begun, and may be made later" *
          doctest::skip(!test::counts_allocations)) {
    context_options options;
    options.threads = 3;
    std::size_t times = 0;
    for (std::optional<context> home; !home; ++times) {
        const test::scarce_memory now(times);
        try {
            home.emplace(options);
        } catch (const std::bad_alloc&) {}
    }
    CHECK(times > 1);
}

}  // namespace threads_test
