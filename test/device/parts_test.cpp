// Device groups made of others: by NCCL where it can, and anew where not; parts of the ranks, and those that are left.
#include "device/ranks.hpp"
#include "support/failures.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <numeric>
#include <string>

namespace parts_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

using some_ranks = std::unique_ptr<gpu::communicator>;

/// The sum of the world's ranks that are in it, by NCCL.
task<std::int32_t> sum_of_ranks(device_rank& here, gpu::communicator& in) {
    const auto data = here.filled<std::int32_t>(100, here.me);
    auto summed = in.all_reduce(data, sum);
    co_await std::move(summed);
    CHECK(here.at(data, 99) == here.at(data, 0));
    co_return here.at(data, 99);
}

task<> check_sum(device_rank& here, gpu::communicator& in, std::int32_t expected) {
    auto summing = sum_of_ranks(here, in);
    const std::int32_t got = co_await std::move(summing);
    CHECK(got == expected);
}

task<> close_well(some_ranks which) {
    auto closing = which->close();
    co_await std::move(closing);
}

/// How it ended, of a task that is to fail.
task<> note_failure(task<some_ranks> what, std::optional<failure>& told) {
    try {
        co_await std::move(what);
    } catch (const failure& why) {
        told = why;
    }
}

/// Splits between operations that no rank has waited for, and with some behind it that are called before it is there.
task<> split_amid_operations(device_rank& here, int color) {
    const gpu::stream compute = here.stream();
    const auto before = here.filled<std::int32_t>(10, 1), behind = here.filled<std::int32_t>(10, 2);
    here.kernel(compute, 3ms);
    auto first = here.all.all_reduce(before, sum, {.after = &compute});
    auto splitting = here.all.split(color, -here.me);
    auto second = here.all.all_reduce(behind, sum);
    auto part = co_await std::move(splitting);
    std::vector<rank> mine;
    for (rank each = 0; each < here.all.size(); ++each)
        if (each % 2 == here.me % 2) mine.push_back(each);
    CHECK(part->size() == static_cast<int>(mine.size()));
    CHECK(mine[mine.size() - 1 - static_cast<std::size_t>(part->rank())] == here.me);
    auto checking = check_sum(here, *part, std::accumulate(mine.begin(), mine.end(), 0));
    co_await std::move(checking);
    co_await std::move(first);
    co_await std::move(second);
    CHECK(here.at(before, 9) == here.all.size());
    CHECK(here.at(behind, 9) == 2 * here.all.size());
    // And of the part again.
    auto dividing = part->split(part->rank(), 0);
    auto alone = co_await std::move(dividing);
    CHECK(alone->size() == 1);
    auto one = check_sum(here, *alone, here.me);
    co_await std::move(one);
    auto ended = close_well(std::move(alone));
    co_await std::move(ended);
    ended = close_well(std::move(part));
    co_await std::move(ended);
}

struct way_to_split {
    const char* name;
    std::vector<std::string> missing;
    int color_of_odd;
    std::size_t splits, ids;  // calls
};

const way_to_split ways_to_split[] = {
    {"by NCCL", {}, 7, 5 + 5, 1},
    {"some ranks with a color below 0, which NCCL does not have", {}, -3, 5 + 5, 1 + 1},
    {"anew, with a library that cannot", {"ncclCommSplit"}, 7, 0, 1 + 2 + 5},
};

}  // namespace

TEST_CASE("a split takes its place among operations, and NCCL makes it where it can") {
    for (const way_to_split& each : ways_to_split)
        for (const int polls : {0, 3}) {
            CAPTURE(each.name);
            CAPTURE(polls);
            gpu::sim::options how;
            how.polls = polls;
            how.missing = each.missing;
            device_stage stage(5, how);
            stage.run([&](device_rank& here) { return split_amid_operations(here, here.me % 2 == 0 ? 0 : each.color_of_odd); });
            CHECK(stage.machine.calls("ncclCommSplit") == each.splits);
            CHECK(stage.machine.calls("ncclGetUniqueId") == each.ids);
        }
}

namespace {

/// The operation before it never ends, so the split never begins.
task<> split_behind_a_hang(device_rank& here, test::failures& told) {
    const auto data = here.filled<float>(10, 1.0f);
    auto hangs = here.all.all_reduce(data, sum, {.deadline = 1s});
    auto splitting = note_failure(here.all.split(0, 0), told[static_cast<std::size_t>(here.me)]);
    co_await std::move(splitting);
    const auto how = co_await as_result(std::move(hangs).completed());
    CHECK(how.has_value() == (here.machine.calls("ncclCommSplit") > 0));
}

task<> split_differently(device_rank& here, test::failures& told) {
    if (here.me == 1) {
        auto barrier = here.all.barrier();
        const auto how = co_await as_result(std::move(barrier).completed());
        REQUIRE_FALSE(how);
        told[1] = how.failure();
        co_return;
    }
    auto splitting = note_failure(here.all.split(0, 0), told[0]);
    co_await std::move(splitting);
}

}  // namespace

TEST_CASE("a split that fails ends with the cause, and leaves nothing of NCCL's behind") {
    SUBCASE("an operation before it hangs") {
        device_stage stage(3);
        stage.machine.hang_operation(1, 0);
        test::failures told(3);
        stage.run([&](device_rank& here) { return split_behind_a_hang(here, told); });
        test::check_each(told, error::timed_out, "all_reduce f32 sum count 10 #1");
        CHECK(stage.machine.calls("ncclCommSplit") == 0);
    }
    SUBCASE("NCCL refuses on one rank") {
        device_stage stage(3);
        stage.machine.fail("ncclCommSplit", ncclSystemError, 1);
        test::failures told(3);
        stage.run([&](device_rank& here) { return split_behind_a_hang(here, told); });
        test::check_each(told, error::system, "ncclCommSplit");
    }
    SUBCASE("another rank calls something else") {
        device_stage stage(2);
        test::failures told(2);
        stage.run([&](device_rank& here) { return split_differently(here, told); });
        test::check_each(told, error::mismatch, "called split");
        test::check_each(told, error::mismatch, "called barrier");
    }
}

namespace {

task<> leave_one_out(device_rank& here, rank odd) {
    auto well = check_sum(here, here.all, 0 + 1 + 2);
    co_await std::move(well);
    if (here.me == odd) co_return;
    auto shrinking = here.all.shrink({odd});
    auto rest = co_await std::move(shrinking);
    CHECK(rest->size() == 2);
    CHECK(rest->rank() == (here.me > odd ? here.me - 1 : here.me));
    CHECK(rest->name().find("without " + std::to_string(odd)) != std::string::npos);
    well = check_sum(here, *rest, 3 - odd);
    co_await std::move(well);
    auto closing = close_well(std::move(rest));
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("without some ranks the others go on, by NCCL where it can") {
    for (const bool able : {true, false})
        for (const rank odd : {0, 1, 2}) {
            CAPTURE(able);
            CAPTURE(odd);
            gpu::sim::options how;
            if (!able) how.missing = {"ncclCommShrink"};
            device_stage stage(3, how);
            stage.run([odd](device_rank& here) { return leave_one_out(here, odd); });
            CHECK(stage.machine.calls("ncclCommShrink") == (able ? 2 : 0));
            CHECK(stage.machine.calls("ncclGetUniqueId") == (able ? 1 : 2));
        }
}

namespace {

/// The death of a rank, and what NCCL says on rank 1 before the other ranks hear of it.
struct death {
    rank dead;
    ncclResult_t noticed;
};

const death deaths[] = {{0, ncclSuccess}, {2, ncclSuccess}, {2, ncclRemoteError}, {0, ncclSystemError}};

task<> go_on_after_a_death(device_rank& here, simulated_network& network, death what, int& survivors) {
    const rank dead = what.dead;
    auto well = check_sum(here, here.all, 0 + 1 + 2 + 3);
    co_await std::move(well);
    co_await sleep_for(20ms);  // all know that it went well
    if (here.me == dead && what.noticed == ncclSuccess) network.kill(here.me);
    auto pending = here.all.barrier();
    if (here.me == dead && what.noticed != ncclSuccess) {
        co_await sleep_for(100ms);
        network.kill(here.me);
    }
    const auto how = co_await as_result(std::move(pending).completed());
    REQUIRE_FALSE(how);
    if (here.me == dead) co_return;
    CHECK(how.failure().code() == error::peer_died);
    REQUIRE(how.failure().details().peers == std::vector<rank>{dead});
    if (here.me == (dead + 1) % 4) {  // takes one more for dead at first
        auto trying = with_deadline(here.all.shrink({dead, (dead + 2) % 4}), 1s);
        try {
            co_await std::move(trying);
            CHECK(false);
        } catch (const failure& why) {
            CHECK(why.code() == error::timed_out);
        }
    }
    auto shrinking = here.all.shrink(how.failure().details().peers);
    auto rest = co_await std::move(shrinking);
    CHECK(rest->size() == 3);
    well = check_sum(here, *rest, 6 - dead);
    co_await std::move(well);
    ++survivors;
    auto closing = close_well(std::move(rest));
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("when a rank has died the others go on without it") {
    for (const death& each : deaths) {
        CAPTURE(each.dead);
        CAPTURE(each.noticed);
        simulated_network network(3, {});
        device_stage stage(4);
        if (each.noticed != ncclSuccess) stage.machine.fail_operation(1, 1, each.noticed);
        stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
        int survivors = 0;
        stage.run([&](device_rank& here) { return go_on_after_a_death(here, network, each, survivors); });
        CHECK(survivors == 3);
        CHECK(stage.machine.calls("ncclCommShrink") == 0);  // NCCL's communicator has been aborted
    }
}

namespace {

task<> leave_out_wrongly(device_rank& here) {
    for (const auto& without : {std::vector<rank>{}, {here.me}, {2}, {-1, 0, 1}}) {
        CAPTURE(without.size());
        auto shrinking = here.all.shrink(without);  // tells when it is awaited, as everything else that goes wrong
        try {
            co_await std::move(shrinking);
            CHECK(false);
        } catch (const failure& why) {
            CHECK(why.code() == error::invalid_argument);
            CHECK(std::string(why.what()).find("other ranks are expected") != std::string::npos);
        }
    }
    auto well = check_sum(here, here.all, 0 + 1);
    co_await std::move(well);
}

}  // namespace

TEST_CASE("who is to be left out is another rank of the group") {
    device_stage stage(2);
    stage.run(leave_out_wrongly);
}

}  // namespace parts_test
