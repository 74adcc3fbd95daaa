#include "schedule/chain.hpp"

#include "support/line.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

constexpr latencies take{.near = 1, .far = 10};

schedule one(const step& line) {
    schedule plan({.output = 1});
    plan.round(line);
    return plan;
}

}  // namespace

TEST_CASE("nothing takes no time") { CHECK(chain_seconds(std::vector<schedule>(3), take) == 0); }

TEST_CASE("a line of ranks is as long as all its messages, though every rank has two rounds only") {
    const int size = 12;
    CHECK(chain_seconds(test::line(size), take) == size - 1);
    const std::vector<int> numbers{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    CHECK(chain_seconds(test::line(size), take, host_map(numbers)) == 9 + 2 * 10);
}

TEST_CASE("rounds that only send take no time, and what came before its round is there at once") {
    schedule root({.output = 1});
    for (rank peer = 1; peer <= 3; ++peer) root.round(send(peer, output(0)));
    CHECK(chain_seconds(std::vector{root, one(recv(0, output(0))), one(recv(0, output(0))), one(recv(0, output(0)))}, take) == 1);
    schedule late({.output = 2});
    late.round(recv(1, output(0)));
    late.round(recv(2, output(1)));
    CHECK(chain_seconds(std::vector{late, one(send(0, output(0))), one(send(0, output(0)))}, take) == 1);
}

TEST_CASE("a round waits for all that it receives, and several messages of a peer come in their order") {
    schedule both({.output = 3}), twice({.output = 2});
    both.round(recv(1, output(0)), recv(2, output(1)), recv(1, output(2)));
    twice.round(send(0, output(0)));
    twice.round(recv(2, output(1)));
    twice.round(send(0, output(1)));
    schedule far({.output = 1});
    far.round(send(0, output(0)), send(1, output(0)));
    const std::vector<int> numbers{0, 0, 1};
    CHECK(chain_seconds(std::vector{both, twice, far}, take) == 2);
    CHECK(chain_seconds(std::vector{both, twice, far}, take, host_map(numbers)) == 10 + 1);
}

TEST_CASE("around a ring over hosts a message goes from host to host as often as there are hosts, whatever the rounds") {
    const int size = 6;
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me) {
        schedule plan({.output = 1});
        for (int round = 0; round < size - 1; ++round)
            plan.round(send((me + 1) % size, output(0)), recv((me + size - 1) % size, output(0)));
        plans.push_back(plan);
    }
    const std::vector<int> numbers{0, 0, 0, 1, 1, 1};
    CHECK(chain_seconds(plans, take) == size - 1);
    CHECK(chain_seconds(plans, take, host_map(numbers)) == 2 * 10 + 3);
}
