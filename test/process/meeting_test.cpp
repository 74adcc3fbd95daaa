#include "command.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

std::string meeting() {
    const char* program = std::getenv("TUTTI_TEST_MEETING");
    REQUIRE_MESSAGE(program != nullptr, "TUTTI_TEST_MEETING names the program to start");
    return program;
}

std::size_t meetings(const outcome& all) {
    std::size_t count = 0;
    for (const std::string& line : lines(all.out)) count += line.find("met all, said tutti-run") != std::string::npos;
    return count;
}

}  // namespace

TEST_CASE("ranks started by tutti-run meet in their store") {
    for (const std::size_t size : {1u, 2u, 4u, 16u}) {
        const outcome all = tutti_run({"-n", std::to_string(size), meeting()});
        CHECK(all.code == 0);
        CHECK_MESSAGE(all.err == "", all.err);
        CHECK(meetings(all) == size);
    }
}

TEST_CASE("two jobs started together on one host never meet each other") {
    for (int i = 0; i < 20; ++i) {
        command first(tutti_run_words({"-n", "2", meeting()})), second(tutti_run_words({"-n", "2", meeting()}));
        CHECK(first.wait().code == 0);
        CHECK(second.wait().code == 0);
        CHECK(meetings(first.so_far()) == 2);
        CHECK(meetings(second.so_far()) == 2);
    }
}

TEST_CASE("a rank that dies before the meeting ends the job") {
    const outcome all =
        tutti_run({"-n", "3", "--", "/bin/sh", "-c", "if [ $RANK = 0 ]; then kill -9 $$; fi; exec " + meeting(), meeting()});
    CHECK(all.code == 137);
}

TEST_CASE("a launch that contradicts itself ends in one line") {
    const outcome all = tutti_run({"-n", "1", "--", "/bin/sh", "-c", "RANK=3; exec " + meeting()});
    CHECK(all.code == 2);
    CHECK(all.err.find("[0] tutti-run says rank 0 (TUTTI_RANK=0), but the plain environment says 3 (RANK=3)\n") == 0);
}
