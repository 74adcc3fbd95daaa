// Splits whose parent ends while the children form: no rank waits for one that does not come any more.
#include "communicator/job.hpp"
#include "support/failures.hpp"
#include "support/seeds.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <random>
#include <string>

namespace split_failure_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::job;

namespace {

constexpr time_point begin(1s);  // of all splits, when everybody has joined

struct outcome {
    std::unique_ptr<communicator> child;
    std::optional<failure> why;
    time_point when{};
};

task<> await_split(task<std::unique_ptr<communicator>> splitting, outcome& into) {
    event_loop& loop = co_await this_loop;
    try {
        into.child = co_await std::move(splitting);
    } catch (const failure& why) {
        into.why = why;
    }
    into.when = loop.now();
}

/// An event that strikes a rank and so its communicator.
using blow = std::function<void(job&, communicator&)>;
void kill_it(job& all, communicator& victim) { all.network.kill(victim.rank()); }
void abort_it(job&, communicator& victim) { victim.abort("enough"); }

/// `victim` does not go on with its split before it is struck.
struct scene {
    int size;
    rank victim;
    int colors;
    int order;  // of the children: 1 as in the parent, -1 the other way around
    std::vector<outcome> ends = std::vector<outcome>(static_cast<std::size_t>(size));

    int color(rank who) const { return who % colors; }
};

constexpr duration before_strike = 300ms;

task<> split_and_strike(std::unique_ptr<communicator> all, job& among, const blow& strike, scene& what) {
    co_await sleep_until(begin);
    const rank me = all->rank();
    auto splitting = all->split(what.color(me), what.order * me);
    if (me == what.victim) {
        co_await sleep_for(before_strike);
        strike(among, *all);
    }
    outcome& mine = what.ends[static_cast<std::size_t>(me)];
    auto ending = await_split(std::move(splitting), mine);
    co_await std::move(ending);
    co_await sleep_for(1s);
    if (!mine.child || what.color(me) == what.color(what.victim)) co_return;
    co_await mine.child->barrier();  // this one was there already
    co_await mine.child->close();
}

/// In each of some families, for each victim: how the split of those ended that are in the victim's child.
void check_each(const blow& strike, const std::function<void(const scene&, rank, const outcome&)>& check) {
    for (int size = 2; size <= 6; ++size)
        for (const int colors : {1, 2})
            for (const int order : {1, -1})
                for (rank victim = 0; victim < size; ++victim) {
                    CAPTURE(size);
                    CAPTURE(colors);
                    CAPTURE(order);
                    CAPTURE(victim);
                    job all;
                    scene what{size, victim, colors, order};
                    all.run(size, [&](std::unique_ptr<communicator> one) { return split_and_strike(std::move(one), all, strike, what); });
                    for (rank each = 0; each < size; ++each) {
                        CAPTURE(each);
                        const outcome& one = what.ends[static_cast<std::size_t>(each)];
                        const bool beside = what.color(each) != what.color(victim);
                        REQUIRE(one.child.operator bool() == beside);
                        if (!beside) check(what, each, one);
                    }
                }
}

void check_soon(const outcome& one, error code, const std::string& part) {
    REQUIRE(one.why);
    CAPTURE(one.why->what());
    CHECK(one.why->code() == code);
    CHECK(test::says(*one.why, part));
    CHECK(one.when < begin + before_strike + 100ms);
}

struct moment {
    rank who;
    duration after;
};

task<> strike_at(communicator& all, job& among, const blow& strike, moment when) {
    if (all.rank() != when.who) co_return;
    co_await sleep_for(when.after);
    strike(among, all);
}

task<> split_while_struck(std::unique_ptr<communicator> all, job& among, const blow& strike, const moment& when,
                          std::vector<outcome>& ends) {
    co_await sleep_until(begin);
    auto splitting = all->split(0, -all->rank());
    co_await when_all(await_split(std::move(splitting), ends[static_cast<std::size_t>(all->rank())]), strike_at(*all, among, strike, when));
    co_await sleep_for(1s);
}

/// Over all networks, and at all times from before the split to after it.
void check_any_moment(const blow& strike, error code) {
    int failed = 0, answered = 0;
    for (std::uint64_t seed = 1; seed <= test::seeds(300); ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        job all(seed, test::uneven_line(random));
        const int size = 2 + static_cast<int>(random() % 7);
        const moment when{static_cast<rank>(random() % static_cast<unsigned>(size)), std::chrono::microseconds(random() % 30'000)};
        std::vector<outcome> ends(static_cast<std::size_t>(size));
        all.run(size, [&](std::unique_ptr<communicator> one) { return split_while_struck(std::move(one), all, strike, when, ends); });
        for (rank each = 0; each < size; ++each) {
            const outcome& one = ends[static_cast<std::size_t>(each)];
            CHECK(one.when < begin + 1s);
            ++(one.child ? answered : failed);
            if (one.child || (each == when.who && code == error::peer_died)) continue;  // the dead blame others
            REQUIRE(one.why);
            CAPTURE(one.why->what());
            CHECK(one.why->code() == code);
            CHECK(one.why->details().root == when.who);
            CHECK(one.why->details().communicator == "world");
        }
    }
    CHECK(failed > 0);
    CHECK(answered > 0);
}

task<> end_parent(std::unique_ptr<communicator>& all, bool politely) {
    co_await sleep_for(10ms);
    if (politely) {
        auto closing = all->close();
        co_await std::move(closing);
    }
    all.reset();
}

/// Rank 1 goes on with its split when no parent is left, and the others wait for it.
task<> form_without_parent(std::unique_ptr<communicator> all, bool politely, int& met) {
    const bool last = all->rank() == 1;
    co_await sleep_until(begin);
    auto splitting = all->split(0, 0);
    outcome mine;
    auto forming = await_split(std::move(splitting), mine);
    auto ending = end_parent(all, politely);
    if (last) {
        co_await std::move(ending);
        co_await std::move(forming);
    } else {
        co_await when_all(std::move(forming), std::move(ending));
    }
    REQUIRE(mine.child);
    co_await mine.child->barrier();
    ++met;
    co_await mine.child->close();
}

}  // namespace

TEST_CASE("a split under way ends when a rank dies, as the parent tells it, and one that was answered goes on") {
    check_each(kill_it, [](const scene& what, rank each, const outcome& one) {
        if (each == what.victim) return;
        check_soon(one, error::peer_died, "died");
        CHECK(one.why->details().root == what.victim);
        CHECK(one.why->details().communicator == "world");
        CHECK(one.why->details().local == each);
    });
}

TEST_CASE("a split under way ends when its parent is aborted, with the reason, on every rank") {
    check_each(abort_it, [](const scene& what, rank each, const outcome& one) {
        check_soon(one, error::aborted,
                   fmt::format("rank {}: join world/1.{}: rank {} aborted: enough", each, what.color(each), what.victim));
        CHECK(one.why->details().root == what.victim);
    });
}

TEST_CASE("an abort or a death in any moment of a split ends it, or comes when it was answered") {
    check_any_moment(abort_it, error::aborted);
    check_any_moment(kill_it, error::peer_died);
}

TEST_CASE("a child forms though its parent is closed or dropped meanwhile") {
    for (const bool polite : {true, false}) {
        CAPTURE(polite);
        job all;
        int met = 0;
        all.run(4, [&](std::unique_ptr<communicator> one) { return form_without_parent(std::move(one), polite, met); });
        CHECK(met == 4);
    }
}

}  // namespace split_failure_test
