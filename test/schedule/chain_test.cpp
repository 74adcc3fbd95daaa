#include "schedule/chain.hpp"

#include "support/line.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using doctest::Approx;

namespace {

constexpr chain_prices prices{.hop = 100, .send = 20, .recv = 10, .moved_byte = 1, .reduced_byte = 2};

schedule one(const step& line) {
    schedule plan({.output = 1});
    plan.round(line);
    return plan;
}

}  // namespace

TEST_CASE("nothing takes no time") {
    CHECK(chain().seconds(5) == 0);
    CHECK(chain(std::vector<schedule>(3), prices).seconds(5) == 0);
}

TEST_CASE("one message is a hop, both ends' calls and its bytes") {
    const std::vector plans{one(send(1, output(0))), one(recv_reduce(0, output(0)))};
    CHECK(chain(plans, prices).seconds(7) == Approx(100 + 20 + 10 + 7 + 14));
}

TEST_CASE("a line of ranks is as long as all its hops, though every rank has two rounds only") {
    const int size = 12;
    CHECK(chain(test::line(size), prices).seconds(3) == Approx((size - 1) * (100 + 20 + 10 + 3)));
}

TEST_CASE("what is sent in one round leaves one after the other, and the last one counts") {
    schedule root({.output = 1});
    root.round(send(1, output(0)), send(2, output(0)), send(3, output(0)));
    const std::vector plans{root, one(recv(0, output(0))), one(recv(0, output(0))), one(recv(0, output(0)))};
    CHECK(chain(plans, prices).seconds(5) == Approx(100 + 10 + 3 * (20 + 5)));
}

TEST_CASE("who has several peers sends and receives dearer, by each but one") {
    schedule root({.output = 1});
    root.round(send(1, output(0)), send(2, output(0)), send(3, output(0)));
    const std::vector plans{root, one(recv(0, output(0))), one(recv(0, output(0))), one(recv(0, output(0)))};
    chain_prices linked = prices;
    linked.link = 4;
    CHECK(chain(plans, linked).seconds(5) == Approx(100 + 10 + 3 * (20 + 2 * 4 + 5)));
    // A line's ends have one peer, the others two.
    const int size = 12;
    CHECK(chain(test::line(size), linked).seconds(3) - chain(test::line(size), prices).seconds(3) == Approx(2 * (size - 2) * 4));
    // Peers on other hosts do not count: three hosts of four ranks have two in their middle.
    std::vector<int> numbers;
    for (int each = 0; each < size; ++each) numbers.push_back(each / 4);
    const host_map hosts(numbers);
    CHECK(chain(test::line(size), linked, hosts).seconds(3) - chain(test::line(size), prices, hosts).seconds(3) == Approx(3 * 2 * 2 * 4));
}

TEST_CASE("what is combined in the pass that combines others has a price of its own") {
    schedule root({.output = 1}), leaf({.output = 1});
    root.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)));
    root.round(send(1, output(0)), send(2, output(0)));
    leaf.round(send(0, output(0)));
    leaf.round(recv(0, output(0)));
    const std::vector plans{root, leaf, leaf};
    chain_prices merging = prices;
    merging.merged_byte = 0.5;
    CHECK(chain(plans, merging).seconds(80) - chain(plans, prices).seconds(80) == Approx(80 * 0.5));
}

TEST_CASE("within a host partners do one part after the other, between hosts both at once") {
    schedule left({.output = 3}), right({.output = 3});
    left.round(send(1, output(0)), recv(1, output(1, 2)));
    right.round(send(0, output(1, 2)), recv(0, output(0)));
    chain_prices far = prices;
    far.far_hop = 1000;
    far.far_moved_byte = 3;
    const std::vector<int> numbers{0, 1};
    CHECK(chain(std::vector{left, right}, prices).seconds(30) == Approx(100 + 20 + 10 + 30));
    CHECK(chain(std::vector{left, right}, far, host_map(numbers)).seconds(30) == Approx(1000 + 20 + 10 + 3 * 20));
}

TEST_CASE("one chain is the longest for few bytes and another for many") {
    // Rank 0 hears of rank 2 by rank 1, without bytes, and gets the vector from rank 3 at once.
    schedule first({.output = 100}), middle({.output = 100}), last({.output = 100}), heavy({.output = 100});
    first.round(recv(1, output(0)));
    middle.round(recv(2, output(0)));
    middle.round(send(0, output(0)));
    last.round(send(1, output(0)));
    heavy.round(send(4, output(0, 100)));
    schedule target({.output = 100});
    target.round(recv(3, output(0, 100)));
    const chain both(std::vector{first, middle, last, heavy, target}, prices);
    CHECK(both.seconds(0) == Approx(260));
    CHECK(both.seconds(100) == Approx(260 + 2));
    CHECK(both.seconds(100'000) == Approx(130 + 100'000));
    CHECK(both.seconds(132) == Approx(260 + 2.64));  // they cross at about 132.7
    CHECK(both.seconds(133) == Approx(130 + 133));
}

TEST_CASE("a hop and bytes from another host have prices of their own, in both ends' rounds") {
    chain_prices far = prices;
    far.far_hop = 1000;
    far.far_moved_byte = 3;
    const std::vector<int> numbers{0, 0, 1};
    const host_map hosts(numbers);
    // 0 to 1 on its host, and 1 to 2 on another.
    schedule middle({.output = 1});
    middle.round(recv(0, output(0)));
    middle.round(send(2, output(0)));
    const std::vector plans{one(send(1, output(0))), middle, one(recv(1, output(0)))};
    CHECK(chain(plans, far, hosts).seconds(5) == Approx(100 + 30 + 5 + 1000 + 30 + 15));
    CHECK(chain(plans, far).seconds(5) == Approx(2 * (100 + 30 + 5)));
}

TEST_CASE("who sends to another host and receives from its own is as long at it as the dearer of both") {
    chain_prices far = prices;
    far.far_hop = 1000;
    far.far_moved_byte = 3;
    const std::vector<int> numbers{0, 0, 1};
    schedule both({.output = 2});
    both.round(send(2, output(0)), recv(0, output(1)));
    schedule left({.output = 2}), right({.output = 2});
    left.round(send(1, output(1)));
    right.round(recv(1, output(0)));
    const std::vector plans{left, both, right};
    CHECK(chain(plans, far, host_map(numbers)).seconds(1000) == Approx(1000 + 20 + 10 + 1500));
}
