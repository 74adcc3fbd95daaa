#include <tutti/persistent.hpp>

#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "support/scattered.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <random>

namespace persistent_test {

using namespace tutti;
using test::part;
using test::programme;
using test::run_ranks;
using test::slices_of;

namespace {

/// Every call of the programme made once, and then all of them started again and again, one after the other or at once.
task<> repeat(communicator& world, const programme& all, bool at_once) {
    std::deque<part> parts;
    std::vector<persistent> calls;
    for (const auto& each : all.entries) {
        part& mine = parts.emplace_back(world, each.what, each.truth, each.in_place);
        calls.emplace_back([&mine](call_options how) { return mine.begin(how); });
    }
    for (int turn = 0; turn < 3; ++turn) {
        std::vector<future<>> begun;
        for (std::size_t index = 0; index < calls.size(); ++index) {
            parts[index].fill();
            begun.push_back(calls[index].start());
            if (!at_once) co_await std::move(begun.back());
        }
        // Plain calls in between have their own places in the order.
        co_await world.barrier();
        if (at_once)
            for (auto& each : begun) co_await std::move(each);
        for (std::size_t index = 0; index < calls.size(); ++index) test::check(all.entries[index], parts[index]);
    }
}

task<> repeat_list(communicator& world) {
    const std::vector<std::size_t> counts{3, 0, 700, 1};
    const test::call what{collective::all_reduce, data_type::f32, avg, 0, test::total(counts)};
    const test::oracle truth(what, world.size(), 12);
    test::scattered memory(what.type, counts);
    persistent average;
    {
        // The call copies the list.
        const std::vector<buffer> list(memory.list().begin(), memory.list().end());
        average = persistent([&](call_options how) { return world.all_reduce(list, avg, how); });
    }
    std::vector<future<>> held;  // futures that have ended may be kept
    for (int turn = 0; turn < 5; ++turn) {
        memory.fill(truth.input(world.rank()));
        held.push_back(average.start());
        while (!held.back().ready()) co_await yield();
        REQUIRE(memory.joined() == truth.expected(world.rank()));
    }
    for (auto& each : held) co_await std::move(each);
}

/// How often it took until there was memory enough.
template <class Start>
std::size_t with_little_memory(const Start& start, std::vector<future<>>& held) {
    for (std::size_t times = 0;; ++times) {
        const test::scarce_memory now(times);
        try {
            held.push_back(start());
            return times;
        } catch (const std::bad_alloc&) {}
    }
}

task<> run_out_of_memory(communicator& world) {
    std::vector<float> data(50'000, 1);
    persistent call([&](call_options how) { return world.all_reduce(data, max, how); });
    std::vector<future<>> held;  // so each start needs an operation more
    held.reserve(3);
    for (int turn = 0; turn < 3; ++turn) {
        std::fill(data.begin(), data.end(), static_cast<float>(world.rank() + turn));
        const std::size_t times = with_little_memory([&call] { return call.start(); }, held);
        if (turn > 0) CHECK(times > 0);
        while (!held.back().ready()) co_await yield();
        CHECK(data == std::vector<float>(50'000, static_cast<float>(world.size() - 1 + turn)));
    }
    for (auto& each : held) co_await std::move(each);
}

/// The same call is tried again, on the operation that was half made.
task<> run_out_of_memory_in_a_plain_call(communicator& world) {
    const auto ranks = static_cast<std::size_t>(world.size());
    std::vector<float> data(500 * ranks, 1), block(500);
    std::vector<future<>> held;
    held.reserve(2);
    held.push_back(world.reduce_scatter(data, block, sum));  // makes the plan, and keeps its operation
    while (!held.back().ready()) co_await yield();
    const std::size_t times = with_little_memory([&] { return world.reduce_scatter(data, block, sum); }, held);
    CHECK(times > 2);
    for (auto& each : held) co_await std::move(each);
    CHECK(block == std::vector<float>(500, static_cast<float>(ranks)));
}

task<> outlive(communicator& world) {
    std::vector<float> data(50'000, 1);
    future<> begun;
    {
        persistent call([&](call_options how) { return world.all_reduce(data, sum, how); });
        begun = call.start();
        persistent moved = std::move(call);
        CHECK_FALSE(call.valid());  // NOLINT: moved from
        CHECK(moved.valid());
    }
    co_await std::move(begun);
    CHECK(data == std::vector<float>(50'000, 3));
    // The call's memory serves others now.
    co_await world.all_reduce(data, sum);
    CHECK(data == std::vector<float>(50'000, 9));
}

task<> start_too_early(communicator& world) {
    std::vector<float> data(5, 1);
    persistent call([&](call_options how) { return world.all_reduce(data, sum, how); });
    co_await call.start();
    auto first = call.start();
    auto second = world.rank() == 1 ? call.start() : world.barrier();
    for (auto* each : {&first, &second}) {
        auto ended = co_await as_result(std::move(*each));
        REQUIRE_FALSE(ended);
        CHECK(ended.failure().code() == error::invalid_argument);
        CHECK(ended.failure().details().cause ==
              "rank 1 started a persistent all_reduce f32 sum count 5 again while it was under way as #2");
    }
}

task<> make_wrongly(communicator& world) {
    std::vector<float> from(4), to(3);
    persistent call;
    if (world.rank() == 1) call = persistent([&](call_options how) { return world.all_reduce(from, to, sum, how); });
    else call = persistent([&](call_options how) { return world.all_reduce(from, sum, how); });
    for (int turn = 0; turn < 2; ++turn) {
        auto ended = co_await as_result(call.start());
        REQUIRE_FALSE(ended);
        CHECK(ended.failure().code() == error::invalid_argument);
        CHECK(ended.failure().details().cause.ends_with("the output has 3 elements, 4 are expected"));
    }
}

/// Several calls, which each rank starts in an order of its own, beside a plain one, and awaits in another.
task<> start_in_own_order(communicator& world) {
    constexpr std::size_t calls = 4;
    std::vector<std::vector<float>> data;
    std::vector<persistent> kept;
    for (std::size_t each = 0; each < calls; ++each) {
        data.emplace_back(1 + each * 20'000);
        std::vector<float>& mine = data.back();
        auto making = persistent_apart(world, [&mine](communicator& own, call_options how) { return own.all_reduce(mine, sum, how); });
        kept.push_back(co_await std::move(making));
    }
    std::mt19937_64 random(static_cast<std::uint64_t>(world.rank()));
    std::vector<std::size_t> order(calls);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int turn = 1; turn <= 5; ++turn) {
        std::shuffle(order.begin(), order.end(), random);
        std::vector<future<>> begun;
        std::vector<float> plain(10, 1);
        for (const std::size_t each : order) {
            data[each].assign(data[each].size(), static_cast<float>(turn));
            begun.push_back(kept[each].start());
            if (each == 2) begun.push_back(world.all_reduce(plain, sum));
        }
        std::reverse(begun.begin(), begun.end());
        for (auto& each : begun) co_await std::move(each);
        for (const auto& each : data) CHECK(each == std::vector<float>(each.size(), static_cast<float>(turn * world.size())));
        CHECK(plain == std::vector<float>(10, static_cast<float>(world.size())));
    }
    co_await world.barrier();
}

std::string complaint_of(const std::function<void()>& mistake) {
    try {
        mistake();
    } catch (const failure& why) {
        CHECK(why.code() == error::invalid_argument);
        return why.details().cause;
    }
    return "none";
}

task<> misuse(communicator& world) {
    CHECK(complaint_of([] { (void)persistent().start(); }) == "a persistent call that is empty was started");
    CHECK(complaint_of([] { persistent([](call_options) { return future<>(); }); }) == "a persistent call has called no communicator");
    CHECK(complaint_of([&] { persistent([&](call_options how) { return (void)world.barrier(how), world.barrier(how); }); }) ==
          "a persistent call has called communicators more than once");
    int number = 0;
    CHECK(complaint_of([&] { persistent([&](call_options how) { return world.send(buffer(&number, 1, data_type::i32), 0, 3, how); }); }) ==
          "a persistent call is that of a collective, not send i32 count 1 to rank 0 tag 3");
    CHECK(complaint_of([&] { persistent([&](call_options how) { return world.exchange({}, how); }); }) ==
          "a persistent call is that of a collective, not exchange of 0 messages");
    CHECK(complaint_of([&] { persistent([&](call_options how) { return world.monitored_barrier(how); }); }) ==
          "a persistent call is that of a collective in their order, not monitored_barrier");
    co_await world.barrier();  // none of these has been called
    CHECK(complaint_of([&] { persistent([&](call_options) { return world.barrier(); }); }) ==
          "a persistent call was issued at once: it hands on the call_options that it is given");
    // That call's future was dropped.
    auto ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::cancelled);
}

task<> start_after_the_end(communicator& world, persistent& kept, std::vector<float>& data) {
    kept = persistent([&](call_options how) { return world.all_reduce(data, sum, how); });
    co_await kept.start();
    auto closing = world.close();
    co_await std::move(closing);
    auto ended = co_await as_result(kept.start());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::closed);
    persistent late([&](call_options how) { return world.all_reduce(data, sum, how); });
    auto refused = co_await as_result(late.start());
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == error::closed);
}

task<> run_late(communicator& world) {
    std::vector<float> data(5);
    persistent call([&](call_options how) {
        how.deadline = std::chrono::seconds(3);
        how.label = "the gradients";
        return world.all_reduce(data, sum, how);
    });
    co_await call.start();
    if (world.rank() == 1) {
        auto ended = co_await as_result(world.watch());
        CHECK(ended.failure().code() == error::timed_out);
        co_return;
    }
    auto ended = co_await as_result(call.start());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::timed_out);
    CHECK(ended.failure().details().label == "the gradients");
}

task<> count_allocations(communicator& world, std::size_t& most) {
    std::vector<float> small(100), large(100'000), parts(400), one(100);
    std::vector<persistent> calls;
    calls.emplace_back([&](call_options how) { return world.all_reduce(buffers(small, one), avg, how); });
    calls.emplace_back([&](call_options how) { return world.all_reduce(large, sum, how); });
    calls.emplace_back([&](call_options how) { return world.all_gather(one, parts, how); });
    calls.emplace_back([&](call_options how) { return world.barrier(how); });
    for (int step = 0; step < 70; ++step) {
        co_await world.barrier();
        const std::size_t before = test::allocations();
        for (persistent& each : calls) co_await each.start();
        co_await world.barrier();
        if (step >= 10 && step < 60) most = std::max(most, test::allocations() - before);
    }
}

}  // namespace

TEST_CASE("every collective may be made once and started often" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 4, 5, 7, 8}) {
        const programme all = test::mixed(size, {0, 1, 100, 3001}, size);
        for (const bool at_once : {false, true}) {
            CAPTURE(size);
            CAPTURE(at_once);
            run_ranks(
                size, [&](communicator& world) { return repeat(world, all, at_once); }, slices_of(256));
        }
    }
}

TEST_CASE("a list of buffers may be started often, whoever still holds the futures") { run_ranks(4, repeat_list, slices_of(256)); }
TEST_CASE("a start that finds no memory changes nothing, and may be tried again" * doctest::skip(!test::counts_allocations)) {
    run_ranks(2, run_out_of_memory);
}
TEST_CASE("a call that finds no memory changes nothing, and may be made again" * doctest::skip(!test::counts_allocations)) {
    for (const int ranks : {2, 3, 4}) run_ranks(ranks, run_out_of_memory_in_a_plain_call);
}
TEST_CASE("a persistent call may go while it is under way") { run_ranks(3, outlive); }
TEST_CASE("a start before the end of the one before is an error on all ranks") { run_ranks(3, start_too_early); }
TEST_CASE("a persistent call with wrong arguments fails the communicator, and every start says why") { run_ranks(3, make_wrongly); }
TEST_CASE("a persistent call is made of exactly one call") { run_ranks(2, misuse); }
TEST_CASE("deadline and label hold for every start") { run_ranks(2, run_late); }

TEST_CASE("a persistent call may outlive its communicator") {
    std::array<persistent, 2> kept;
    std::vector<float> data[2] = {std::vector<float>(3), std::vector<float>(3)};
    run_ranks(2, [&](communicator& world) {
        const auto me = static_cast<std::size_t>(world.rank());
        return start_after_the_end(world, kept[me], data[me]);
    });
}

TEST_CASE("after warm-up starts allocate nothing, on any rank" * doctest::skip(!test::counts_allocations)) {
    std::size_t most = 0;
    run_ranks(4, [&](communicator& world) { return count_allocations(world, most); });
    CHECK(most == 0);
}

TEST_CASE("calls that are kept apart match whatever the order in which ranks start them" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 5}) run_ranks(size, start_in_own_order, slices_of(1024));
    test::run_over_each(3, start_in_own_order);
}

}  // namespace persistent_test
