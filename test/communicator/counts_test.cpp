// Collectives with a count for each rank: what happens when the ranks' counts contradict each other, and that the caller's list may go.
#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"
#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <string>

namespace counts_test {

using namespace tutti;
using test::run_ranks;

namespace {

using counts = std::vector<std::size_t>;

struct row {
    const char* cause;  // a part of it
    counts send[3];     // by rank
    counts recv[3];
};

const row contradictions[] = {
    {"rank 1 expects 4 elements from rank 0, which sends 3", {{1, 3, 2}, {0, 0, 0}, {0, 0, 0}}, {{1, 0, 0}, {4, 0, 0}, {2, 0, 0}}},
    {"rank 2 expects 0 elements from rank 1, which sends 1", {{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
    {"rank 0 expects 7 elements from rank 2, which sends 0", {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, {{0, 0, 7}, {0, 0, 0}, {0, 0, 0}}},
};

std::size_t sum_of(const counts& all) { return all[0] + all[1] + all[2]; }

task<> contradict(communicator& world, const row& one, int& told) {
    const auto me = static_cast<std::size_t>(world.rank());
    std::vector<std::int32_t> from(sum_of(one.send[me])), to(sum_of(one.recv[me]));
    auto ended = co_await as_result(world.all_to_all_v(from, to, one.send[me], one.recv[me]));
    // A rank that has all it wants may end before the others find out.
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    const std::string cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.starts_with(one.cause));
    CHECK(cause.find("all_to_all_v i32") != std::string::npos);
    ++told;
}

/// The sums are equal, and so is everybody's own count.
task<> give_other_lists(communicator& world, int which, int& told) {
    const counts mine = world.rank() == 2 ? counts{3, 4, 5} : counts{3, 5, 4};
    std::vector<float> part(mine[static_cast<std::size_t>(world.rank())]), all(12);
    const auto call = [&]() -> future<> {
        switch (which) {
            case 0: return world.all_gather_v(part, all, mine);
            case 1: return world.reduce_scatter_v(all, part, mine, sum);
            case 2: return world.gather_v(part, all, mine, 0);
            default: return world.scatter_v(all, part, mine, 0);
        }
    };
    auto begun = call();
    auto ended = co_await as_result(std::move(begun));
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    CHECK(ended.failure().details().cause.find("count 12") != std::string::npos);
    CHECK(ended.failure().details().cause.find(" counts #") != std::string::npos);
    ++told;
}

task<> forget_lists(communicator& world) {
    const auto me = static_cast<std::size_t>(world.rank());
    counts mine{0, 70'000, 3}, send, recv;
    for (std::size_t peer = 0; peer < 3; ++peer) send.push_back(me * 10 + peer), recv.push_back(peer * 10 + me);
    std::vector<std::int32_t> part(mine[me], static_cast<std::int32_t>(me)), all(70'003), out(sum_of(send), world.rank()),
        in(sum_of(recv), -1);
    auto gathered = world.all_gather_v(part, all, mine);
    auto exchanged = world.all_to_all_v(out, in, send, recv);
    mine.assign(3, 1);
    send.assign(3, 5);
    recv = send;
    co_await std::move(gathered);
    co_await std::move(exchanged);
    CHECK(std::count(all.begin(), all.end(), 1) == 70'000);
    CHECK(std::count(all.begin(), all.end(), 2) == 3);
    for (std::int32_t peer = 0; peer < 3; ++peer) CHECK(std::count(in.begin(), in.end(), peer) == peer * 10 + world.rank());
}

// ---- counts that the root alone knows

task<> gather_and_scatter(communicator& world, const test::programme& all, bool at_once) {
    std::deque<test::part> parts;
    std::vector<future<>> begun;
    for (const auto& each : all.entries) {
        auto one = parts.emplace_back(world, each.what, each.truth, each.in_place).begin({}, true);
        if (at_once) begun.push_back(std::move(one));
        else co_await std::move(one);
    }
    for (auto& each : begun) co_await std::move(each);
    for (std::size_t index = 0; index < parts.size(); ++index) test::check(all.entries[index], parts[index]);
}

test::programme rooted(int size, std::initializer_list<std::size_t> some) {
    test::programme all;
    for (const auto kind : {collective::gather_v, collective::scatter_v})
        for (const std::size_t count : some)
            for (rank root = 0; root < size; ++root)
                all.add({kind, test::all_types[(count + static_cast<std::size_t>(root)) % test::all_types.size()], sum, root, count}, size,
                        root % 2 == 0);
    return all;
}

struct rooted_row {
    const char* cause;
    future<> (*call)(communicator&, std::vector<float>& part, std::vector<float>& all);
};
const counts threes{3, 3, 3};
counts_at_root at_root(communicator& world, const counts& all, rank root) {
    return world.rank() == root ? counts_at_root(all) : counts_at_root();
}

/// On rank 2 of 3 `part` has 4 elements instead of 3.
const rooted_row disagreements[] = {
    {"rank 1 expects 3 elements from rank 2, which sends 4",
     [](communicator& c, auto& part, auto& all) { return c.gather_v(part, all, at_root(c, threes, 1), 1); }},
    {"rank 2 expects 4 elements from rank 0, which sends 3",
     [](communicator& c, auto& part, auto& all) { return c.scatter_v(all, part, at_root(c, threes, 0), 0); }},
};
/// The same with parts of 3 elements, where rank 2 gives the list that all have, and others only that of the root.
const rooted_row mixed_forms[] = {
    {"gather_v f32 root 1 with counts_at_root",
     [](communicator& c, auto& part, auto& all) {
         part.resize(3);
         return c.rank() == 2 ? c.gather_v(part, all, threes, 1) : c.gather_v(part, all, at_root(c, threes, 1), 1);
     }},
    {"scatter_v f32 root 0 with counts_at_root",
     [](communicator& c, auto& part, auto& all) {
         part.resize(3);
         return c.rank() == 2 ? c.scatter_v(all, part, threes, 0) : c.scatter_v(all, part, at_root(c, threes, 0), 0);
     }},
};

task<> disagree_with_root(communicator& world, const rooted_row& one, bool starts, int& told) {
    std::vector<float> part(world.rank() == 2 ? 4 : 3), all(9);
    auto begun = one.call(world, part, all);
    auto ended = co_await as_result(std::move(begun));
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    const std::string cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK((starts ? cause.starts_with(one.cause) : cause.find(one.cause) != std::string::npos));
    if (!starts) CHECK(cause.find("f32 count 9 root") != std::string::npos);
    ++told;
}

const rooted_row refusals[] = {
    // on rank 1, of 3
    {"there are 2 counts for 3 ranks",
     [](communicator& c, auto& part, auto& all) {
         const counts two{3, 3};
         return c.gather_v(part, all, counts_at_root(two), 1);
     }},
    {"the output has 9 elements, 10 are expected",
     [](communicator& c, auto& part, auto& all) {
         const counts ten{3, 3, 4};
         return c.gather_v(part, all, counts_at_root(ten), 1);
     }},
    {"the output has 3 elements, 4 are expected",
     [](communicator& c, auto& part, auto& all) {
         const counts other{3, 4, 2};
         return c.scatter_v(all, part, counts_at_root(other), 1);
     }},
    {"there are 0 counts for 3 ranks; where the root alone knows them, all ranks pass counts_at_root",
     [](communicator& c, auto& part, auto& all) { return c.gather_v(part, all, std::span<const std::size_t>(), 0); }},
    {"root 7 is not among the ranks 0 to 2",
     [](communicator& c, auto& part, auto& all) { return c.scatter_v(all, part, counts_at_root(), 7); }},
};

task<> call_rooted_wrongly(communicator& world, const rooted_row& one) {
    std::vector<float> part(3), all(9);
    auto begun = world.rank() == 1 ? one.call(world, part, all) : world.barrier();
    const auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::invalid_argument);
    const std::string cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.ends_with(std::string("with a wrong argument: ") + one.cause));
}

}  // namespace

TEST_CASE("counts that the root alone gives are enough for gather_v and scatter_v") {
    for (const int size : {1, 2, 3, 5, 8}) {
        CAPTURE(size);
        const test::programme all = rooted(size, {0, 1, 7, 1009, 20'011});
        for (const bool at_once : {false, true})
            run_ranks(
                size, [&](communicator& world) { return gather_and_scatter(world, all, at_once); }, test::slices_of(1000));
    }
}

TEST_CASE("counts that the root alone gives serve over every transport") {
    const test::programme all = rooted(3, {0, 1, 1009, 100'003});
    test::run_over_each(3, [&](communicator& world) { return gather_and_scatter(world, all, true); });
}

TEST_CASE("a rank whose part the root's list does not have is told, and both counts") {
    for (const auto& each : disagreements) {
        int told = 0;
        run_ranks(3, [&](communicator& world) { return disagree_with_root(world, each, true, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("ranks that do not agree on whether the root alone gives the counts are a mismatch") {
    for (const auto& each : mixed_forms) {
        int told = 0;
        run_ranks(3, [&](communicator& world) { return disagree_with_root(world, each, false, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("a root's list that does not fit is refused before anything is sent") {
    for (const auto& each : refusals) {
        CAPTURE(each.cause);
        run_ranks(3, [&](communicator& world) { return call_rooted_wrongly(world, each); });
    }
}

TEST_CASE("an all_to_all_v whose sender and receiver disagree names both and both counts, on all ranks") {
    for (const row& each : contradictions) {
        CAPTURE(each.cause);
        int told = 0;
        run_ranks(3, [&](communicator& world) { return contradict(world, each, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("lists of counts that differ are a mismatch, also when their sums do not") {
    for (int which = 0; which < 4; ++which) {
        CAPTURE(which);
        int told = 0;
        run_ranks(3, [&](communicator& world) { return give_other_lists(world, which, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("a list of counts may change as soon as the call has returned") { run_ranks(3, forget_lists); }

}  // namespace counts_test
