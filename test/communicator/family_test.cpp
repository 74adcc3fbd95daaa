// The abilities of children of a communicator, beside their parent, over every transport.
#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"

#include <tutti/persistent.hpp>

#include <algorithm>

namespace family_test {

using namespace tutti;

namespace {

/// From every rank to every rank, itself included, with all under way at once. Long ones in the arena are read where they lie.
task<> exchange_with_all(communicator& among) {
    const auto size = static_cast<std::size_t>(among.size());
    for (const std::size_t count : {1u, 1000u, 200'003u}) {
        auto out = among.allocate<std::int32_t>(count * size), in = among.allocate<std::int32_t>(count * size);
        std::vector<transfer> parts;
        for (rank peer = 0; peer < among.size(); ++peer) {
            const std::size_t first = count * static_cast<std::size_t>(peer);
            std::fill_n(out.begin() + first, count, 100 * among.rank() + peer);
            parts.push_back(recv_from(buffer(std::span(in.data() + first, count)), peer, 5));
            parts.push_back(send_to(buffer(std::span(out.data() + first, count)), peer, 5));
        }
        co_await among.exchange(parts);
        for (rank peer = 0; peer < among.size(); ++peer) {
            const auto* const first = in.begin() + count * static_cast<std::size_t>(peer);
            CHECK(std::all_of(first, first + count, [&](auto each) { return each == 100 * peer + among.rank(); }));
        }
    }
}

task<> pass_on_and_sum(communicator& among) {
    const rank next = (among.rank() + 1) % among.size(), before = (among.rank() + among.size() - 1) % among.size();
    std::vector<int> mine(70'000, among.rank()), theirs(70'000);
    auto sent = among.send(mine, next, 1);
    const received what = co_await among.probe(before, 1);
    auto coming = among.try_recv(theirs, any_source, 1);
    REQUIRE(coming);
    const received got = co_await std::move(*coming);
    CHECK(got == what);
    co_await std::move(sent);
    CHECK(theirs.back() == before);
    persistent summing([&](call_options how) { return among.all_reduce(buffers(mine, theirs), sum, how); });
    for (int turn = 0; turn < 3; ++turn) co_await summing.start();
    int all = among.size() * (among.size() - 1) / 2;
    for (int turn = 1; turn < 3; ++turn) all *= among.size();
    CHECK(mine == std::vector<int>(70'000, all));
    CHECK(theirs == mine);
    co_await among.monitored_barrier();
}

/// A child can what its parent can, while that does the same.
task<> work_beside_children(communicator& world) {
    auto dividing = world.split(world.rank() % 2, -world.rank());
    const auto half = co_await std::move(dividing);
    const test::programme all = test::mixed(half->size(), {1, 5000}, 3);
    co_await when_all(exchange_with_all(world), exchange_with_all(*half), test::rehearse(*half, all, test::memory_kind::arena));
    co_await when_all(pass_on_and_sum(*half), pass_on_and_sum(world));
    co_await half->close();
}

}  // namespace

TEST_CASE("children send, receive, sum lists and meet beside their parent, over every transport") {
    test::run_over_each(4, work_beside_children);
    test::run_over({"auto, two hosts", transport_kind::automatic}, 4, work_beside_children, 2);
}

}  // namespace family_test
