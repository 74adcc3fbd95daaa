#include "validation/borrowed_memory.hpp"
#include "validation/calls_in_turn.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <thread>

using namespace tutti::detail;

namespace {

using sixteen_bytes = std::array<std::byte, 16>;

borrowed piece(sixteen_bytes& of, std::size_t first, std::size_t bytes, bool written) { return {of.data() + first, bytes, written}; }

}  // namespace

TEST_CASE("two calls may share bytes that neither writes") {
    struct row {
        std::size_t first, bytes;
        bool written, other_written, conflict;
    };
    constexpr row rows[] = {{4, 8, false, false, false}, {4, 8, true, false, true},  {4, 8, false, true, true}, {0, 5, true, true, true},
                            {11, 5, true, true, true},   {0, 4, true, true, false},  {12, 4, true, true, false}, {6, 0, true, true, false},
                            {0, 16, true, false, true},  {7, 1, false, true, true}};
    const auto book = std::make_shared<borrowed_memory>();
    sixteen_bytes all{};
    for (const row& each : rows) {
        CAPTURE(each.first);
        CAPTURE(each.bytes);
        const borrowed_memory::entry before(book, {piece(all, 4, 8, each.other_written)}, "the first call");
        CHECK(!before.conflict());
        const borrowed_memory::entry now(book, {piece(all, 0, 0, true), piece(all, each.first, each.bytes, each.written)}, "the second call");
        CHECK(now.conflict().has_value() == each.conflict);
        if (now.conflict()) CHECK(*now.conflict() == "the first call");
    }
    const borrowed_memory::entry last(book, {piece(all, 0, 16, true)}, "all have ended");
    CHECK(!last.conflict());
}

TEST_CASE("pieces that overlap do so in the copy, what was written comes back, and nothing else") {
    sixteen_bytes all{};
    for (std::size_t index = 0; index < all.size(); ++index) all[index] = std::byte(index);
    const borrowed pieces[] = {piece(all, 8, 4, false), piece(all, 2, 6, false), piece(all, 4, 2, true), piece(all, 14, 0, true), {}};
    const private_memory copy(pieces);
    const auto at = [&](std::size_t index) { return static_cast<std::byte*>(copy.at(all.data() + index)); };
    CHECK(at(2) != all.data() + 2);
    CHECK(at(4) == at(2) + 2);
    CHECK(*at(9) == std::byte(9));
    CHECK(at(14) == all.data() + 14);
    CHECK(copy.at(nullptr) == nullptr);
    for (const std::size_t index : {2u, 3u, 4u, 5u, 8u}) *at(index) = std::byte(0xff);
    CHECK(copy.untouched());
    copy.give_back();
    for (std::size_t index = 0; index < all.size(); ++index) CHECK(all[index] == (index == 4 || index == 5 ? std::byte(0xff) : std::byte(index)));
}

TEST_CASE("a byte that its owner writes is seen, in whatever piece it is") {
    for (const std::size_t written : {2u, 4u, 7u, 8u, 11u}) {
        sixteen_bytes all{};
        const borrowed pieces[] = {piece(all, 8, 4, false), piece(all, 2, 6, false), piece(all, 4, 2, true)};
        const private_memory copy(pieces);
        all[0] = all[1] = all[12] = std::byte(1);
        CHECK(copy.untouched());
        all[written] = std::byte(1);
        CHECK(!copy.untouched());
    }
}

TEST_CASE("a thread that calls while another is in a call is seen, and a thread that calls afterwards is not") {
    calls_in_turn order;
    {
        const calls_in_turn::turn first(order, "the first call");
        CHECK(!first.other());
        const calls_in_turn::turn within(order, "a call of the same thread");
        CHECK(!within.other());
        std::thread([&] {
            const calls_in_turn::turn second(order, "the second call");
            REQUIRE(second.other());
            CHECK(*second.other() == "a call of the same thread");
        }).join();
    }
    std::thread([&] {
        const calls_in_turn::turn later(order, "a later call");
        CHECK(!later.other());
    }).join();
}
