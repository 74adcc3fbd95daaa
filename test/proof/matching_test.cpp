#include "proof/matching.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("the k-th send to a peer meets the peer's k-th recv, whatever their rounds are called") {
    schedule root({.output = 2}), leaf({.output = 2});
    root.round(send(2, output(0)));
    root.round(send(1, output(0)), send(1, output(1)));
    leaf.round(recv(0, output(0)), recv_reduce(0, output(1)));
    const std::vector plans{root, leaf, schedule({.output = 2})};
    const matching pairs(plans);
    const channel& pair = pairs.between(0, 1);
    REQUIRE(pair.sends.size() == 2);
    REQUIRE(pair.recvs.size() == 2);
    CHECK(*pair.sends[1].line == send(1, output(1)));
    CHECK(pair.sends[1].round == 1);
    CHECK(*pair.recvs[1].line == recv_reduce(0, output(1)));
    CHECK(pair.recvs[1].round == 0);
    CHECK(pair.recvs[1].who == 1);
    CHECK(pairs.between(0, 2).sends.size() == 1);
    CHECK(pairs.between(0, 2).recvs.empty());
    CHECK(pairs.between(1, 0).sends.empty());
}
