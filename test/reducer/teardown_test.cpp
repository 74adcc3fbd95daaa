// A guest's end: whatever is destroyed first, the rest can be destroyed afterwards.
#include <tutti/asio.hpp>
#include <tutti/reducer.hpp>
#include <tutti/tutti.hpp>

#include "runtime/asio.hpp"
#include "support/forked.hpp"
#include "support/ranks.hpp"
#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <random>
#include <thread>

namespace teardown_test {

using namespace tutti;
using namespace std::chrono_literals;

namespace {

constexpr auto by_hand = asio::use_awaitable;

task<std::unique_ptr<communicator>> join(context& home, rank me, std::shared_ptr<store> meeting) {
    auto joining = home.join(test::world_of(me, 2), std::move(meeting));
    co_return co_await std::move(joining);
}

/// Splits once, as the other rank does, and then waits for what never comes, with all it has.
asio::awaitable<void> wait_for_ever(event_loop& loop, communicator& over, bool& waits) {
    auto mine = co_await async_run(loop, over.split(0, 0), by_hand);
    std::vector<float> numbers(1000);
    waits = true;
    co_await mine->all_reduce(numbers, sum)(by_hand);
}

task<> nap() { co_await sleep_for(1h); }
task<> nothing() { co_return; }

/// Rank 1, with a thread of its own.
class neighbour {
public:
    explicit neighbour(memory_table& table) : thread_([this, &table] { meet(table); }) {}
    ~neighbour() { thread_.join(); }

private:
    void meet(memory_table& table) try {
        event_loop loop;
        all_ = run(loop, join(home_, 1, memory_store(table)));
        part_ = run(loop, all_->split(0, 1));
    } catch (const failure&) {  // the other has gone before it was told that the split has formed
    }

    context home_;
    std::unique_ptr<communicator> all_, part_;
    std::thread thread_;
};

/// Everything that a program may have, in the order in which it is made; some of it is under way.
class program {
public:
    explicit program(bool strand) {
        io.emplace(1);
        loop.emplace(host(strand ? asio::any_io_executor(asio::make_strand(*io)) : io->get_executor()));
        home.emplace(*loop, nullptr);
        nursery.emplace(*loop);
        nursery->start(nothing());
        async_run(*loop, nap(), asio::detached);
        async_run(*loop, join(*home, 0, memory_store(table)), [this](std::exception_ptr, std::unique_ptr<communicator> made) {
            all = std::move(made);
            asio::co_spawn(executor_of(*loop), wait_for_ever(*loop, *all, waits), asio::detached);
        });
        while (!waits) io->run_one();
        std::vector<parameter> parameters;
        parameters.emplace_back("one", numbers);
        gradients = std::make_unique<reducer>(*all, std::move(parameters));
        gradients->ready(0);
        pending = all->barrier();
        for (int turn = 0; turn < 10; ++turn) io->poll_one();
        nursery->start(nothing());
        while (nursery->running() != 0) io->run_one();  // what has ended is still to be swept away
        io->stop();
    }
    /// Those that have numbers lower than this.
    static constexpr int parts = 7;
    void destroy(int which) {
        switch (which) {
            case 0: return pending = {}, void();
            case 1: return gradients.reset();
            case 2: return all.reset();
            case 3: return home.reset();
            case 4: return nursery.reset();
            case 5: return loop.reset();
            default: return io.reset();
        }
    }

    memory_table table;
    neighbour other{table};
    std::vector<float> numbers = std::vector<float>(100);
    std::optional<asio::io_context> io;
    std::optional<event_loop> loop;
    std::optional<context> home;
    std::optional<scope> nursery;
    std::unique_ptr<communicator> all;
    std::unique_ptr<reducer> gradients;
    future<> pending;
    bool waits = false;
};

std::string names(const std::vector<int>& order) {
    const char* const all[] = {"future", "reducer", "communicator", "context", "scope", "loop", "io_context"};
    std::string text;
    for (const int each : order) text += std::string(all[each]) + " ";
    return text;
}

}  // namespace

TEST_CASE("a scope that is destroyed while its tasks run ends the program with a sentence that says what to do first, also after its loop") {
    for (const bool loop_first : {false, true}) {
        const auto end = test::in_a_fork([loop_first] {
            asio::io_context io(1);
            std::optional<event_loop> loop(std::in_place, host(io.get_executor()));
            scope nursery(*loop);
            nursery.start(nap());
            io.poll();
            if (loop_first) loop.reset();
        });
        INFO(end.err);
        CHECK(end.code == 128 + SIGABRT);
        CHECK(end.err.find("tutti: a scope is left while its tasks still run; co_await its join() first:") == 0);
    }
}

TEST_CASE("a guest's program ends whatever it destroys first: host, loop, context, communicator, reducer, scope, pending futures and coroutines") {
    const std::uint64_t seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<int> order(program::parts);
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(names(order));
        const auto end = test::in_a_fork([&] {
            program one(round % 2 == 1);
            for (const int each : order) one.destroy(each);
        });
        INFO(end.err);
        CHECK(end.code == 0);
        CHECK(end.err == "");
        if (round < 2) std::reverse(order.begin(), order.end());  // both orders on both hosts
        else std::shuffle(order.begin(), order.end(), random);
    }
}

}  // namespace teardown_test
