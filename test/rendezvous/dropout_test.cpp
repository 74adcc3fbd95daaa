#include "rendezvous/dropout.hpp"

#include <tutti/error.hpp>

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("what is told of a rank that drops out can be read again, and nothing else can") {
    report why;
    why.code = error::rendezvous_timeout;
    why.root = 3;
    why.peers = {1, 40};
    why.cause = "rank 3 could not join: 7 of 9, and\nso on";
    const auto told = read_dropout(write_dropout(why));
    REQUIRE(told);
    CHECK(told->code == why.code);
    CHECK(told->root == why.root);
    CHECK(told->peers == why.peers);
    CHECK(told->cause == why.cause);
    report bare;
    bare.code = std::make_error_code(std::errc::too_many_files_open);
    const auto less = read_dropout(write_dropout(bare));
    REQUIRE(less);
    CHECK(less->code == error::system);
    CHECK(less->cause == bare.code.message());
    for (const char* other : {"", "4", "4 1", "4 1 0", "4 1 2 3 ", "0 1 0 x", "99 1 0 x", "x 1 0 x", "4 1 9999999999 x"}) {
        CAPTURE(other);
        CHECK_FALSE(read_dropout(other));
    }
}
