// Receives that end before their message is there, or get one that does not fit: nothing else ends, and no byte is written afterwards.
#include "over_each.hpp"
#include "support/ranks.hpp"
#include "support/seeds.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/communicator.hpp>
#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>

namespace receive_ends_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::run_ranks;

namespace {

constexpr message_tag tags = 3, last = 9;
constexpr std::uint32_t empty = 0xabcdabcd;

struct course {
    std::uint64_t seed = 0;
    int messages = 60;
    std::size_t longest = 100'000;  // elements
    bool allocated = false;         // the sender's memory is lent
    std::chrono::microseconds longest_wait{3000};
};

/// Every message consists of its number. All sends end well, whatever becomes of the receives.
task<> send_numbers(communicator& world, course how) {
    std::mt19937_64 random{how.seed};
    std::deque<std::vector<std::uint32_t>> memory;
    std::deque<shared_array<std::uint32_t>> lent;
    std::vector<future<>> sent;
    for (int number = 1; number <= how.messages; ++number) {
        const std::size_t most[] = {10, 3000, 20'000, how.longest};
        const std::size_t count = 1 + random() % most[random() % 4];
        std::span<std::uint32_t> data;
        if (how.allocated) data = lent.emplace_back(world.allocate<std::uint32_t>(count));
        else data = memory.emplace_back(count);
        std::fill(data.begin(), data.end(), static_cast<std::uint32_t>(number));
        sent.push_back(world.send(data, 1, random() % tags));
        if (random() % 4 == 0) co_await sleep_for(std::chrono::microseconds(random() % 500));
    }
    for (auto& each : sent) co_await std::move(each);
    std::vector<std::uint32_t> word{last};
    co_await world.send(word, 1, last);
}

/// A receiver that is patient now and then only.
class receiver {
public:
    receiver(communicator& world, const course& how) : world_(world), how_(how), random_{how.seed + 1} {}

    task<> run() {
        while (!world_.try_probe(0, last)) {
            const auto kind = random_() % 8;
            if (kind < 2) co_await receive_in_time();
            else if (kind < 4) co_await receive_and_cancel();
            else if (kind < 6) co_await receive_and_drop();
            else co_await take_what_is_there();
        }
        // All sends have ended, so what is left has been kept here.
        while (co_await take_what_is_there()) {}
        std::vector<std::uint32_t> word(1);
        co_await world_.recv(word, 0, last);
        for (const auto& each : gone_) REQUIRE(std::count(each.begin(), each.end(), empty) == static_cast<std::ptrdiff_t>(each.size()));
    }
    int ended_early = 0;
    int received_well = 0;

private:
    message_tag some_tag() { return random_() % tags; }
    std::chrono::microseconds some_time() {
        return std::chrono::microseconds(random_() % static_cast<std::uint64_t>(how_.longest_wait.count()));
    }
    std::vector<std::uint32_t>& fresh() { return gone_.emplace_back(how_.longest, empty); }

    /// Every element of what came is its number, which grows within a tag.
    void check(const received& what) {
        const auto& memory = gone_.back();
        const std::uint32_t number = memory[0];
        REQUIRE(number > before_[what.tag]);
        before_[what.tag] = number;
        REQUIRE(std::count(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(what.count), number) ==
                static_cast<std::ptrdiff_t>(what.count));
        REQUIRE(std::count(memory.begin() + static_cast<std::ptrdiff_t>(what.count), memory.end(), empty) ==
                static_cast<std::ptrdiff_t>(memory.size() - what.count));
        gone_.pop_back();
        ++received_well;
    }
    /// Bytes that were there before the end may have been half written; from then on they stay.
    void note(const result<received>& ended, error expected) {
        if (ended) return check(*std::as_const(ended).operator->());
        REQUIRE(ended.failure().code() == expected);
        std::fill(gone_.back().begin(), gone_.back().end(), empty);
        ++ended_early;
    }
    task<> receive_in_time() {
        call_options options;
        options.deadline = 1us + some_time();
        auto receiving = world_.recv(fresh(), 0, some_tag(), options);
        auto ended = co_await as_result(std::move(receiving));
        note(ended, error::timed_out);
    }
    task<> receive_and_cancel() {
        auto receiving = world_.recv(fresh(), 0, some_tag());
        co_await sleep_for(some_time());
        receiving.cancel();
        auto ended = co_await as_result(std::move(receiving));
        note(ended, error::cancelled);
    }
    task<> receive_and_drop() {
        {
            auto receiving = world_.recv(fresh(), 0, some_tag());
            co_await sleep_for(some_time());
        }
        // It may have ended well; then its number is lost to us, as its message is.
        std::fill(gone_.back().begin(), gone_.back().end(), empty);
        ++ended_early;
    }
    task<bool> take_what_is_there() {
        for (message_tag tag = 0; tag < tags; ++tag) {
            if (!world_.try_probe(0, tag)) continue;
            auto receiving = world_.recv(fresh(), 0, tag);
            check(co_await std::move(receiving));
            co_return true;
        }
        co_await sleep_for(some_time());
        co_return false;
    }

    communicator& world_;
    const course how_;
    std::mt19937_64 random_;
    std::deque<std::vector<std::uint32_t>> gone_;  // memory of receives, the last one's at the end
    std::map<message_tag, std::uint32_t> before_;
};

task<> exercise(communicator& world, course how, int& early, int& well) {
    if (world.rank() == 0) co_await send_numbers(world, how);
    if (world.rank() == 1) {
        receiver impatient(world, how);
        co_await impatient.run();
        early += impatient.ended_early;
        well += impatient.received_well;
    }
    std::vector<float> ones(1000, 1);
    co_await world.all_reduce(ones, sum);
    CHECK(ones == std::vector<float>(1000, static_cast<float>(world.size())));
}

/// A server serves two workers, one of which waits for something that never comes.
task<> serve_on(communicator& world, int& served) {
    std::vector<float> part(1000);
    if (world.rank() == 0) {
        for (int turn = 0; turn < 100; ++turn) {
            co_await world.recv(part, any_source, 1);
            ++served;
        }
        co_return;
    }
    for (int turn = 0; turn < 50; ++turn) {
        co_await world.send(part, 0, 1);
        if (world.rank() != 2 || turn != 20) continue;
        call_options options;
        options.deadline = 200ms;
        auto never = world.recv(part, 0, 9, options);
        auto ended = co_await as_result(std::move(never));
        REQUIRE_FALSE(ended);
        CHECK(ended.failure().code() == error::timed_out);
        CHECK(ended.failure().details().cause == "rank 2 waited 0.2 s in recv f32 count 1000 from rank 0 tag 9 for rank 0");
    }
}

/// Two messages that do not fit, and one that does.
task<> misfit(communicator& world) {
    std::vector<float> few(3), more(4, 6);
    std::vector<double> other(4);
    if (world.rank() == 0)
        for (int times = 0; times < 3; ++times) co_await world.send(more, 1, 9);
    if (world.rank() == 1) {
        auto receiving = world.recv(few, 0, 9);
        const auto longer = co_await as_result(std::move(receiving));
        REQUIRE_FALSE(longer);
        CHECK(longer.failure().code() == error::truncated);
        CHECK(
            std::string(longer.failure().what()) ==
            "rank 1 called recv f32 count 3 from rank 0 tag 9 where rank 0 called send f32 "
            "count 4 to rank 1 tag 9 (message #1), which does not fit and is thrown away after 0 of 12 bytes");
        receiving = world.recv(other, 0, 9);
        const auto typed = co_await as_result(std::move(receiving));
        REQUIRE_FALSE(typed);
        CHECK(typed.failure().code() == error::mismatch);
        co_await world.recv(more, 0, 9);
        CHECK(few == std::vector<float>(3));
        CHECK(other == std::vector<double>(4));
    }
    co_await world.all_reduce(few, sum);
}

}  // namespace

TEST_CASE("a message that does not fit its receive fails that receive alone, naming both calls") { run_ranks(3, misfit); }

TEST_CASE("a receive's own deadline ends that receive, and the communicator goes on and closes") {
    int served = 0;
    run_ranks(3, [&](communicator& world) { return serve_on(world, served); });
    CHECK(served == 100);
}

TEST_CASE("receives that are cancelled, dropped or overdue at any time disturb nothing, over every simulated network") {
    int early = 0, well = 0;
    for (std::uint64_t seed = 0; seed < test::seeds(20); ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        line_options line;
        line.latency = std::chrono::microseconds(random() % 200);
        line.jitter = std::chrono::microseconds(random() % 500);
        line.window_bytes = std::size_t{1} << (6 + random() % 11);
        context_options options;
        options.slice_bytes = std::size_t{1} << (8 + random() % 11);
        course how;
        how.seed = seed;
        event_loop loop(event_loop::virtual_time);
        simulated_network network(seed, line);
        run_ranks(
            loop, 2 + static_cast<int>(seed % 2), [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
            [&](communicator& world) { return exercise(world, how, early, well); }, options);
    }
    CHECK(early > 100);
    CHECK(well > 100);
}

TEST_CASE("the same in memory, and over every transport, from ordinary memory and from memory that is lent") {
    int early = 0, well = 0;
    run_ranks(2, [&](communicator& world) { return exercise(world, course(), early, well); });
    for (const test::over& each : test::transports)
        for (const bool allocated : {true, false}) {
            CAPTURE(each.name);
            CAPTURE(allocated);
            course how;
            how.seed = test::any_seed();
            how.allocated = allocated;
            how.longest = 500'000;
            how.messages = 30;
            CAPTURE(how.seed);
            test::run_over(each, 2, [&](communicator& world) { return exercise(world, how, early, well); });
        }
    CHECK(early > 0);
    CHECK(well > 0);
}

}  // namespace receive_ends_test
