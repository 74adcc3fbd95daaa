// A rank that has no descriptor left says so, on all ranks and at once, whatever it wanted one for.
#include "command.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace std::chrono_literals;

namespace {

constexpr int ranks = 3;

/// Rank `poor` may have so many files open, or all, if it is -1.
outcome with_limit(const std::string& transport, int poor, int limit, const std::string& part = "spends") {
    const std::string program = std::getenv("TUTTI_TEST_RANK_PROGRAM");
    const std::string which = poor < 0 ? "true" : "[ $TUTTI_RANK = " + std::to_string(poor) + " ]";
    std::vector<std::string> words = shells(ranks, "export TUTTI_TRANSPORT=" + transport + "; if " + which + "; then ulimit -n " +
                                                       std::to_string(limit) + "; fi; exec " + program + " " + part);
    words.insert(words.begin(), "--grace=3");
    return tutti_run(std::move(words));
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

/// The limit from which on everything works.
int first_good(const std::string& transport, int poor) {
    int goods = 0, told_by_all = 0, limit = 8;
    for (; goods < 3; ++limit) {
        REQUIRE(limit < 64);
        const outcome all = with_limit(transport, poor, limit);
        CAPTURE(transport);
        CAPTURE(poor);
        CAPTURE(limit);
        INFO(all.out);
        INFO(all.err);
        CHECK(all.took < 15s);
        goods = all.code == 0 ? goods + 1 : 0;
        if (all.code == 0) {
            CHECK(count(all.out, "spent rank") == ranks);
            continue;
        }
        const std::string end = ": its limit is " + std::to_string(limit) + " (ulimit -n)";
        CHECK(all.err.find(end) != std::string::npos);
        int told = 0;
        for (const std::string& line : lines(all.err)) {
            if (line.find("tutti: rank ") == std::string::npos) continue;
            const bool names = line.find(end) != std::string::npos &&
                               (poor < 0 || line.find("rank " + std::to_string(poor) + " has no descriptor left for ") != std::string::npos ||
                                line.starts_with("[" + std::to_string(poor) + "] "));
            CHECK_MESSAGE(names, line);
            told += names;
        }
        told_by_all += told == ranks;
    }
    CHECK(told_by_all > 0);
    return limit - goods;
}

}  // namespace

TEST_CASE("a rank that runs out of descriptors is named on all ranks, with its limit, or everything goes well") {
    for (const char* const transport : {"tcp", "shm"})
        for (const int poor : {0, 2, -1}) MESSAGE(std::string(transport) << ", rank " << poor << ": " << first_good(transport, poor) << " are enough");
}

TEST_CASE("a rank has several times as many communicators as descriptors, and none of them holds up another") {
    for (const char* const transport : {"tcp", "shm"})
        for (const int poor : {-1, 0}) {  // one poor rank asks the others for streams
            CAPTURE(transport);
            CAPTURE(poor);
            const outcome all = with_limit(transport, poor, 80, "children");
            INFO(all.err);
            CHECK(all.code == 0);
            CHECK(count(all.out, "done rank") == ranks);
        }
}
