#include "handshake/hello.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tutti;

TEST_CASE("a hello is the same on both ends, for any numbers") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 1000; ++round) {
        hello said;
        said.job = random();
        said.group = random();
        said.epoch = static_cast<std::uint32_t>(random());
        said.from = static_cast<rank>(random());
        said.to = static_cast<rank>(random());
        said.size = static_cast<int>(random());
        said.lane = static_cast<lane_kind>(random() % lane_kinds);
        if (said.lane == lane_kind::bulk) said.lane.index = static_cast<int>(random() % most_lanes);
        const auto heard = decode_hello(encode(said));
        REQUIRE(heard);
        CHECK(*heard == said);
    }
}

TEST_CASE("what does not begin like a hello, or names no lane, is none") {
    const auto good = encode(hello{});
    for (std::size_t place = 0; place < 6; ++place) {
        auto bad = good;
        bad[place] ^= std::byte{1};
        CHECK_FALSE(decode_hello(bad));
    }
    constexpr std::pair<int, int> none[] = {{lane_kinds, 0}, {0, 1}, {1, most_lanes}, {2, 1}, {3, 1}, {1, 255}};
    for (const auto& [kind, index] : none) {
        auto bad = good;
        bad[6] = static_cast<std::byte>(kind);
        bad[7] = static_cast<std::byte>(index);
        CHECK_FALSE(decode_hello(bad));
    }
    CHECK_FALSE(decode_hello({}));
}

TEST_CASE("a reply carries its reason, cut when it is too long") {
    const auto heard = decode_reply(encode(reply{answer::refused, std::string(1000, 'x')}));
    REQUIRE(heard);
    CHECK(heard->what == answer::refused);
    CHECK(heard->why == std::string(200, 'x'));
    CHECK(decode_reply(encode(reply{answer::crossed, {}}))->what == answer::crossed);
    auto bad = encode(reply{});
    bad[4] = std::byte{9};
    CHECK_FALSE(decode_reply(bad));
    bad = encode(reply{});
    bad[5] = std::byte{0xff};
    bad[6] = std::byte{0xff};
    CHECK_FALSE(decode_reply(bad));
}
