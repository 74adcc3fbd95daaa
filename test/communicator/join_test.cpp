#include "job.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <string>
#include <utility>

namespace join_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::world_of;

namespace {

constexpr int ranks = 6;

/// Another store, whose answers come later, or not at all.
class disturbed_store final : public store {
public:
    disturbed_store(std::unique_ptr<store> inner, duration delay, std::optional<failure> broken)
        : inner_(std::move(inner)),
          delay_(delay),
          broken_(std::move(broken)) {}

    task<result<std::string>> get(std::string key, time_point deadline) override {
        co_await sleep_for(delay_);
        if (broken_) co_return *broken_;
        auto asking = inner_->get(std::move(key), deadline);
        co_return co_await std::move(asking);
    }
    task<result<>> set(std::string key, std::string value, time_point deadline) override {
        return inner_->set(std::move(key), std::move(value), deadline);
    }
    task<result<std::int64_t>> add(std::string key, std::int64_t delta, time_point deadline) override {
        return inner_->add(std::move(key), delta, deadline);
    }
    task<result<bool>> compare_set(std::string key, std::optional<std::string> expected, std::string desired,
                                   time_point deadline) override {
        return inner_->compare_set(std::move(key), std::move(expected), std::move(desired), deadline);
    }
    task<result<bool>> erase(std::string key, time_point deadline) override { return inner_->erase(std::move(key), deadline); }
    task<result<>> close(time_point deadline) override { return inner_->close(deadline); }

private:
    const std::unique_ptr<store> inner_;
    const duration delay_;
    const std::optional<failure> broken_;
};

/// One loop with contexts of all ranks.
struct company {
    company() {
        for (rank me = 0; me < ranks; ++me)
            homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network), options));
    }
    static context_options patient() {
        context_options told;
        told.rendezvous = 10s;
        return told;
    }
    /// `each(home, who)` of all ranks at once.
    template <class Each>
    void all(Each&& each) {
        std::vector<task<>> works;
        for (rank me = 0; me < ranks; ++me) works.push_back(each(*homes[static_cast<std::size_t>(me)], world_of(me, ranks)));
        run(loop, when_all(std::move(works)));
    }

    event_loop loop{event_loop::virtual_time};
    memory_network network;
    const context_options options = patient();
    std::vector<std::unique_ptr<context>> homes;
};

task<> sum_up(communicator& all, std::size_t count) {
    std::vector<int> ones(count, 1);
    auto summing = all.all_reduce(ones, sum);
    co_await std::move(summing);
    CHECK(ones == std::vector<int>(count, ranks));
}

/// How the first communicator is when the second is made.
enum class first_is { open, closed };

task<> join_twice(context& home, world who, std::shared_ptr<store> first, std::shared_ptr<store> second, first_is how, int& count) {
    auto joining = home.join(who, std::move(first));
    const auto one = co_await std::move(joining);
    co_await one->barrier();
    if (how == first_is::closed) {
        auto closing = one->close();
        co_await std::move(closing);
    }
    auto again = home.join(who, std::move(second));
    const auto other = co_await std::move(again);
    CHECK(other->name() == one->name());
    for (const std::size_t length : {std::size_t{3}, std::size_t{100'000}})  // lanes that neither has used yet
        for (communicator* each : {other.get(), one.get()}) {
            if (each == one.get() && how == first_is::closed) continue;
            auto summing = sum_up(*each, length);
            co_await std::move(summing);
        }
    ++count;
    auto end = other->close();
    co_await std::move(end);
    if (how == first_is::open) {
        auto closing = one->close();
        co_await std::move(closing);
    }
}

task<> join_and_sum(context& home, world who, std::shared_ptr<store> meeting, int& count) {
    auto joining = home.join(who, std::move(meeting));
    const auto all = co_await std::move(joining);
    auto summing = sum_up(*all, 10);
    co_await std::move(summing);
    ++count;
    auto end = all->close();
    co_await std::move(end);
}

task<failure> fail_to_join(context& home, world who, std::shared_ptr<store> meeting) {
    try {
        auto joining = home.join(who, std::move(meeting));
        co_await std::move(joining);
    } catch (const failure& why) {
        co_return why;
    }
    throw failure(error::system, "it joined");
}

task<> fail_without_2(context& home, world who, std::shared_ptr<store> meeting, int& failed) {
    if (who.me == 2) co_return;
    auto trying = fail_to_join(home, who, std::move(meeting));
    const failure why = co_await std::move(trying);
    CHECK(why.code() == error::rendezvous_timeout);
    ++failed;
}

/// When a rank gave up, and for whom.
struct surrender {
    duration after{};
    std::vector<rank> missing{};
};

task<> join_within(context& home, world who, std::shared_ptr<store> meeting, duration limit, surrender& told) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    join_options once;
    once.within = limit;
    try {
        auto joining = home.join(who, std::move(meeting), "tutti", once);
        co_await std::move(joining);
        FAIL("it joined");
    } catch (const failure& why) {
        CHECK(why.code() == error::rendezvous_timeout);
        told.missing = why.details().peers;
    }
    told.after = loop.now() - begin;
}
task<> nothing() { co_return; }

task<> tell_failure(context& home, world who, std::shared_ptr<store> meeting, std::string& told) {
    auto trying = fail_to_join(home, who, std::move(meeting));
    told = (co_await std::move(trying)).what();
}

task<> join_for_a_second(context& home, memory_table& table) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    try {
        co_await with_deadline(home.join(world_of(1, 2), memory_store(table)), 1s);
        FAIL("it joined");
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);
    }
    CHECK(loop.now() - begin == 1s);
}

task<> fail_at_once(context& home, world who, std::shared_ptr<store> meeting, const std::function<void()>& hurry) {
    std::vector<int> ones(1000, 1);
    auto joining = home.join(who, std::move(meeting));
    const auto all = co_await std::move(joining);
    if (who.me == 1) hurry();
    auto summing = all->all_reduce(ones, sum);
    if (who.me == 1) summing.cancel();
    co_await std::move(summing);
}

/// Rank 1 cancels its first call. Rank 0 passes that on. It overtakes nothing, but comes to rank 2 together with what rank 0 said before.
task<> fail_and_join_again(context& home, world who, memory_table& table, const std::function<void()>& hurry, int& joined) {
    try {
        auto failing = fail_at_once(home, who, memory_store(table), hurry);
        co_await std::move(failing);
        FAIL("it did not fail");
    } catch (const failure& why) {
        CHECK(why.code() == error::cancelled);
    }
    if (who.me == 0) co_await sleep_for(3s);  // what is in the store for so long is of the first join
    auto again = join_and_sum(home, who, memory_store(table), joined);
    co_await std::move(again);
}

/// Its watch and its barrier have been asked for, and nothing has heard of that yet, when all goes.
task<> end_with_all(std::unique_ptr<context>& home, world who, std::shared_ptr<store> meeting, int& ended) {
    auto joining = home->join(who, std::move(meeting));
    auto world = co_await std::move(joining);
    co_await world->barrier();
    co_await sleep_for(1s);
    future<> ends[] = {world->watch(), world->monitored_barrier()};
    world.reset();
    home.reset();
    for (future<>& each : ends) {
        const auto told = co_await as_result(std::move(each));
        CHECK(!told.has_value());
        ++ended;
    }
}

}  // namespace

TEST_CASE("ranks may join again in one context, whatever became of the communicator before, and neither hears the other's messages") {
    for (const first_is how : {first_is::open, first_is::closed})
        for (const bool same_store : {true, false})
            for (const rank late : {-1, 0, 1, 2, ranks - 1}) {
                CAPTURE(same_store);
                CAPTURE(late);
                company all;
                memory_table first, second;
                int joined = 0;
                all.all([&](context& home, world who) {
                    auto next = memory_store(same_store ? first : second);
                    const duration delay = who.me == late ? 100ms : 0ms;  // its parent, or its child, is there long before
                    return join_twice(home, who, memory_store(first),
                                      std::make_unique<disturbed_store>(std::move(next), delay, std::nullopt), how, joined);
                });
                CHECK(joined == ranks);
            }
}

TEST_CASE("ranks that have joined different numbers of jobs of one name join all the same") {
    company all;
    memory_table alone, table;
    int joined = 0;
    for (const std::size_t more : {std::size_t{1}, std::size_t{1}, std::size_t{3}}) {
        auto joining = all.homes[more]->join(world_of(0, 1), memory_store(alone));
        const auto made = run(all.loop, std::move(joining));
    }
    all.all([&](context& home, world who) { return join_and_sum(home, who, memory_store(table), joined); });
    CHECK(joined == ranks);
}

TEST_CASE("ranks try again after one of them was missing") {
    for (const bool same_store : {true, false}) {
        CAPTURE(same_store);
        company all;
        memory_table first, second;
        int failed = 0, joined = 0;
        all.all([&](context& home, world who) { return fail_without_2(home, who, memory_store(first), failed); });
        CHECK(failed == ranks - 1);
        all.all([&](context& home, world who) { return join_and_sum(home, who, memory_store(same_store ? first : second), joined); });
        CHECK(joined == ranks);
    }
}

TEST_CASE("ranks join again, and at once, after one of them has heard of a failure together with the word that all have come") {
    event_loop loop(event_loop::virtual_time);
    line_options whole;
    whole.partial_moves = false;
    simulated_network network(1, whole);
    line_options slow = whole;
    slow.latency = 1s;
    network.set(0, 2, slow);
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    for (rank me = 0; me < ranks; ++me)
        homes.push_back(std::make_unique<context>(loop, std::make_unique<simulated_transport>(loop, network)));
    std::vector<task<>> works;
    int joined = 0;
    const std::function<void()> hurry = [&network, &whole] { network.set(0, 2, whole); };
    for (rank me = 0; me < ranks; ++me)
        works.push_back(fail_and_join_again(*homes[static_cast<std::size_t>(me)], world_of(me, ranks), table, hurry, joined));
    run(loop, when_all(std::move(works)));
    CHECK(joined == ranks);
    CHECK(loop.now().time_since_epoch() < 20s);
}

TEST_CASE("a join ends within the time that it was given, and every rank names those that are missing") {
    struct {
        rank missing;
        rank hurries;  // -1: all do
    } const rows[] = {{2, -1}, {0, -1}, {2, 1}, {2, 0}, {0, 1}};
    for (const auto& row : rows) {
        CAPTURE(row.missing);
        CAPTURE(row.hurries);
        company all;
        memory_table table;
        surrender told[ranks];
        all.all([&](context& home, world who) {
            const bool hurries = row.hurries < 0 || row.hurries == who.me;
            return who.me == row.missing ? nothing() : join_within(home, who, memory_store(table), hurries ? 5s : 0s, told[who.me]);
        });
        for (rank each = 0; each < ranks; ++each) {
            if (each == row.missing) continue;
            CAPTURE(each);
            CHECK(fmt::format("{}", fmt::join(told[each].missing, " ")) == std::to_string(row.missing));
            const bool early = row.hurries < 0 || row.hurries == each || row.hurries == 0;  // what rank 0 gives up, all do
            CHECK(told[each].after >= (early ? 5s : 10s));
            CHECK(told[each].after <= (early ? 6500ms : 11500ms));
        }
    }
}

TEST_CASE("a limit of a join that is less than nothing is refused") {
    company all;
    memory_table table;
    join_options backwards;
    backwards.within = -1s;
    auto joining = all.homes[0]->join(world_of(0, 1), memory_store(table), "tutti", backwards);
    try {
        run(all.loop, std::move(joining));
        FAIL("it joined");
    } catch (const failure& why) {
        CHECK(why.code() == error::invalid_argument);
    }
}

TEST_CASE("what rank 0's store says instead of an address is told on all ranks") {
    company all;
    memory_table table;
    std::vector<std::string> told(ranks);
    all.all([&](context& home, world who) {
        std::optional<failure> broken;
        if (who.me == 0) broken.emplace(error::protocol_error, "the file is damaged");
        auto meeting = std::make_unique<disturbed_store>(memory_store(table), 0s, std::move(broken));
        return tell_failure(home, who, std::move(meeting), told[static_cast<std::size_t>(who.me)]);
    });
    for (const std::string& each : told) CHECK(each.find("the file is damaged") != std::string::npos);
    CHECK(all.loop.now().time_since_epoch() < 1s);
}

TEST_CASE("joining ends when it is cancelled, and when its time is up") {
    company all;
    memory_table table;
    run(all.loop, join_for_a_second(*all.homes[1], table));
}

TEST_CASE("a watch and a barrier that watches, called in the turn in which everything goes, end") {
    company all;
    memory_table table;
    int ended = 0;
    all.all(
        [&](context&, world who) { return end_with_all(all.homes[static_cast<std::size_t>(who.me)], who, memory_store(table), ended); });
    CHECK(ended == 2 * ranks);
}

}  // namespace join_test
