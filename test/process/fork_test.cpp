// Ranks that fork, on all transports.
#include "command.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace {

outcome forks(const std::string& transport, const std::vector<std::string>& words) {
    std::vector<std::string> all{"-n", "2", "--grace=2", "--", "/usr/bin/env", "TUTTI_TRANSPORT=" + transport, std::getenv("TUTTI_TEST_FORK_PROGRAM")};
    all.insert(all.end(), words.begin(), words.end());
    return tutti_run(all);
}

}  // namespace

TEST_CASE("a child does not disturb its parent's job, whatever it does with what it has inherited, nor does it crash") {
    for (const char* const transport : {"tcp", "shm", "auto"})
        for (const char* const what : {"exits", "calls", "own", "destroys", "destroys_backwards"})
            for (const char* const where : {"threads", "helped", "guest"}) {
                CAPTURE(transport);
                CAPTURE(what);
                CAPTURE(where);
                const outcome all = forks(transport, {what, where});
                INFO(all.out);
                INFO(all.err);
                CHECK(all.code == 0);
                CHECK(all.out.find("rank 0 closed") != std::string::npos);
                CHECK(all.out.find("rank 1 closed") != std::string::npos);
                CHECK(all.out.find("child") == std::string::npos);
            }
}

TEST_CASE("a child that goes on with its parent's task ends with a sentence that names the parent, and the job goes on") {
    for (const char* const transport : {"tcp", "shm", "auto"}) {
        CAPTURE(transport);
        const outcome all = forks(transport, {"goes_on"});
        INFO(all.out);
        INFO(all.err);
        CHECK(all.code == 0);
        CHECK(all.err.find("rank 0: the event loop belongs to process ") != std::string::npos);
        CHECK(all.out.find("rank 0: the child exited with 1") != std::string::npos);
        CHECK(all.out.find("rank 1: the child exited with 0") != std::string::npos);
    }
}
