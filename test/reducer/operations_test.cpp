// The tasks of communicators, contexts and reducers, awaited as Asio's operations: by a guest, and beside a context with a thread.
#include <tutti/asio.hpp>
#include <tutti/reducer.hpp>
#include <tutti/tutti.hpp>

#include "support/ranks.hpp"
#include "support/threads.hpp"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace operations_test {

using namespace tutti;
namespace asio = boost::asio;

namespace {

constexpr int size = 2;

asio::awaitable<float> take_part(context& home, rank me, std::shared_ptr<store> meeting) {
    const auto world = co_await home.join(test::world_of(me, size), std::move(meeting))(asio::use_awaitable);
    const auto half = co_await world->split(0, -me)(asio::use_awaitable);
    std::vector<float> numbers(100, static_cast<float>(me));
    std::vector<parameter> parameters;
    parameters.emplace_back("numbers", numbers);
    reducer gradients(*world, std::move(parameters));
    co_await gradients.agree();
    gradients.ready(0);
    co_await gradients.finish();
    float last = static_cast<float>(10 * half->rank());
    const std::span<float> sent(&last, 1);
    co_await half->all_reduce(sent, sum);
    co_await half->close();
    co_await world->close()(asio::use_awaitable);
    co_return numbers[0] + last;
}

}  // namespace

TEST_CASE("an asio::awaitable joins, splits, averages and closes") {
    for (const bool guest : {false, true}) {
        CAPTURE(guest);
        memory_table table;
        std::vector<float> seen(size);
        test::on_threads(size, [&](rank me) {
            asio::io_context context;
            std::optional<event_loop> loop;
            if (guest) loop.emplace(host{context.get_executor()});
            std::optional<tutti::context> home;
            if (guest) home.emplace(*loop, nullptr);
            else home.emplace();
            auto end = asio::co_spawn(context, take_part(*home, me, memory_store(table)), asio::use_future);
            while (end.wait_for(std::chrono::seconds(0)) != std::future_status::ready) context.run_one();
            seen[static_cast<std::size_t>(me)] = end.get();
        });
        for (const float each : seen) CHECK(each == 10.5f);  // the average of 0 and 1, and ten times 0 and 1
    }
}

TEST_CASE("a callback hears that its communicator has closed") {
    memory_table table;
    test::on_threads(size, [&](rank me) {
        std::promise<std::exception_ptr> told;  // until the context's thread has ended
        context home;
        const auto world = home.join(test::world_of(me, size), memory_store(table))(asio::use_future).get();
        world->close()([&](std::exception_ptr why) { told.set_value(why); });
        CHECK_FALSE(told.get_future().get());
    });
}

namespace {

/// How a task ends. The exception stays where it is told of, since ThreadSanitizer does not see who lets go of it last.
template <class T>
std::future<error> end_of(task<T> what) {
    auto told = std::make_shared<std::promise<error>>();
    auto end = told->get_future();
    what([told](std::exception_ptr why, auto&&...) {
        error code{};
        try {
            if (why) std::rethrow_exception(why);
        } catch (const failure& known) {
            code = static_cast<error>(known.code().value());
        }
        told->set_value(code);
    });
    return end;
}

}  // namespace

TEST_CASE("a context that is destroyed first ends its tasks with cancelled, whether they have begun or not") {
    memory_table table;
    std::optional<context> home;
    home.emplace();
    auto begun = end_of(home->join(test::world_of(0, 2), memory_store(table)));  // rank 1 never comes
    auto kept = home->join(test::world_of(0, 2), memory_store(table), "another job");
    auto alone = home->join(test::world_of(0, 1), memory_store(table), "a third job")(asio::use_future).get();
    home.reset();
    CHECK(begun.get() == error::cancelled);
    CHECK(end_of(std::move(kept)).get() == error::cancelled);
    CHECK(end_of(alone->close()).get() == error::cancelled);
}

namespace {

task<> keep_cancellers(communicator& world) {
    std::vector<float> numbers(10);
    persistent step([&](call_options how) { return world.all_reduce(numbers, sum, how); });
    std::vector<canceller> kept;
    for (int round = 0; round < 5; ++round) {
        std::fill(numbers.begin(), numbers.end(), 1.0f);
        auto started = step.start();
        kept.push_back(started.canceller());
        co_await std::move(started);
        CHECK(numbers[0] == static_cast<float>(world.size()));
        for (const auto& each : kept) each.cancel();  // too late
    }
    kept.resize(1);
    for (int round = 0; round < 3; ++round) co_await step.start();
    char text = 0;
    auto receiving = world.recv(std::span<char>(&text, 1), 1 - world.rank());
    const auto stop = receiving.canceller();
    auto stopping = [](canceller what) -> task<> {
        co_await yield();
        what.cancel();
    };
    auto waiting = [](future<received> what) -> task<error> {
        auto ended = co_await as_result(what);
        co_return static_cast<error>(ended.failure().code().value());
    };
    auto both = when_all(waiting(std::move(receiving)), stopping(stop));
    const auto ended = co_await std::move(both);
    CHECK(std::get<0>(ended) == error::cancelled);
    co_await world.barrier();  // a receive ends alone
}

}  // namespace

TEST_CASE("a canceller that is kept holds up no later call, and ends a receive that another task awaits") {
    test::run_ranks(2, keep_cancellers);
}

}  // namespace operations_test
