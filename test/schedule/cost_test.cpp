#include "schedule/cost.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("a plan's cost is counted from its steps") {
    schedule plan({.input = 2, .output = 4, .scratch = 1});
    plan.round(send(1, output(0, 3)), send(2, output(3)), recv(1, scratch(0)));
    plan.round(recv_reduce(2, output(0, 2)), copy(output(0), input(0)));
    plan.round(copy(output(1), output(0)));
    const cost total = count(plan);
    CHECK(total.rounds == 3);
    CHECK(total.exchanges == 2);
    CHECK(total.steps == 6);
    CHECK(total.messages == 4);
    CHECK(total.linked == 4);  // two peers
    CHECK(total.whole == 4);
    CHECK(total.sent == 4);
    CHECK(total.received == 3);
    CHECK(total.reduced == 2);
    CHECK(total.copied == 2);
    CHECK(total.near() == 7);
    CHECK(total.links == 2);
    CHECK(total.lengths == std::map<long, int>{{1, 2}, {2, 1}, {3, 1}});
    CHECK(total.bytes(total.sent, 100) == 100);
}

TEST_CASE("an empty plan costs nothing") {
    CHECK(count(schedule()) == cost{});
    CHECK(count(schedule()).bytes(0, 100) == 0);
}

TEST_CASE("a lane is in use from the first send to its peer to the last") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0)));
    plan.round(copy(output(1), output(0)));  // nothing is exchanged
    plan.round(recv(3, output(2)));
    plan.round(send(2, output(0)), recv(3, output(3)));
    plan.round(send(1, output(0)));
    plan.round(send(2, output(0)));
    CHECK(count(plan).lane_rounds == 3);  // to rank 1; to rank 2 it is 2
    CHECK(count(plan).far_lane_rounds == 0);
    const std::vector<int> numbers{0, 0, 0, 1};
    CHECK(count(plan, 0, host_map(numbers)).lane_rounds == 3);
    CHECK(count(plan, 0, host_map(numbers)).far_lane_rounds == 2);
    schedule once({.output = 1});
    once.round(send(1, output(0)), recv(1, output(0)));
    CHECK(count(once).lane_rounds == 0);
}

TEST_CASE("blocks that come back from a peer of the host they were sent to are answered") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0, 2)), send(2, output(2)), recv_reduce(1, output(3)));
    plan.round(recv(1, output(0, 2)), recv(2, output(2)), send(1, output(3)));
    CHECK(count(plan).answered == 3);
    CHECK(count(plan).links == 2);
    const std::vector<int> numbers{0, 0, 1};
    CHECK(count(plan, 0, host_map(numbers)).answered == 2);
    CHECK(count(plan, 0, host_map(numbers)).links == 1);
    schedule around({.output = 2});
    around.round(send(1, output(0)), recv(2, output(1)));
    around.round(send(1, output(1)), recv(2, output(0)));
    CHECK(count(around).answered == 0);
}

TEST_CASE("what comes and is sent on later is forwarded, once") {
    schedule plan({.input = 1, .output = 4, .scratch = 1});
    plan.round(recv(1, output(0, 2)), send(2, output(0)), send(2, input(0)));  // what was there before
    plan.round(send(2, output(0)), recv_reduce(1, output(3)), recv(1, scratch(0)));
    plan.round(send(3, output(0, 3)), send(2, output(3)), send(2, scratch(0)));
    CHECK(count(plan).forwarded == 4);  // block 0, then block 1, what became of block 3, and the scratch
    plan.round(recv(1, output(0)));
    plan.round(send(2, output(0)));
    CHECK(count(plan).forwarded == 5);
}

TEST_CASE(
    "what is summed in the pass that sums others, and goes back or comes from who does the same, is merged, but for the first of it") {
    schedule plan({.output = 4});
    plan.round(recv_reduce(1, output(0, 2)), recv_reduce(2, output(0, 2)), recv_reduce(3, output(0, 2)), recv_reduce(3, output(2)));
    plan.round(send(1, output(0, 2)), send(2, output(0, 2)), send(3, output(0, 2)), send(3, output(2)));
    CHECK(count(plan).reduced == 7);
    CHECK(count(plan).merged == 4);
    const std::vector<int> numbers{0, 0, 0, 1};
    CHECK(count(plan, 0, host_map(numbers)).merged == 0);  // what comes from another host waits for nobody
    schedule kept({.output = 1});
    kept.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)));
    kept.round(send(1, output(0)));
    CHECK(count(kept).merged == 0);  // rank 2 does not get the sum
    schedule both({.input = 3, .output = 1});
    both.round(send(1, input(1)), send(2, input(2)), recv_reduce(1, output(0)), recv_reduce(2, output(0)));
    CHECK(count(both).merged == 1);  // but sums, too
    schedule written({.input = 1, .output = 1});
    written.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)));
    written.round(copy(output(0), input(0)));
    written.round(send(1, output(0)), send(2, output(0)));
    CHECK(count(written).merged == 0);  // what goes back is something else
    schedule touched({.output = 2});
    touched.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)), recv_reduce(3, output(0, 2)));
    touched.round(send(1, output(0)), send(2, output(0)), send(3, output(0, 2)));
    CHECK(count(touched).merged == 0);  // some of it is reduced into more than these blocks
    for (const int peers : {15, 16}) {
        schedule many({.output = 1});
        for (rank peer = 1; peer <= peers; ++peer) many.add(recv_reduce(peer, output(0)));
        many.end_round();
        for (rank peer = 1; peer <= peers; ++peer) many.add(send(peer, output(0)));
        many.end_round();
        CHECK(count(many).merged == (peers == 15 ? 14 : 0));
    }
}

TEST_CASE("peers on other hosts make no link within the host dearer") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0)), send(2, output(1)), send(3, output(2)), recv(2, output(3)));
    CHECK(peers(plan, 0, {}) == 3);
    CHECK(count(plan).linked == 4 * 2);
    const std::vector<int> numbers{0, 0, 0, 1};
    CHECK(peers(plan, 0, host_map(numbers)) == 2);
    CHECK(count(plan, 0, host_map(numbers)).linked == 3 * 1);
}

TEST_CASE("what goes to other hosts is counted apart, in each round the larger of sent and received") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0, 3)), send(2, output(3)), recv(3, output(1, 2)));
    plan.round(recv_reduce(1, output(0)));
    plan.round(send(2, output(0, 4)));
    const std::vector<int> numbers{0, 0, 1, 2};
    const cost total = count(plan, 0, host_map(numbers));
    CHECK(total.far_exchanges == 2);
    CHECK(total.far_sent == 5);
    CHECK(total.far_received == 2);
    CHECK(total.far_serial == 6);  // 2 received in the first round, 4 sent in the last
    CHECK(total.near() == 4);  // 3 to rank 1, 1 from it
    const cost near = count(plan);
    CHECK(near.far_exchanges == 0);
    CHECK(near.far_serial == 0);
    CHECK(near.near() == 11);
}
