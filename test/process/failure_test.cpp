#include "command.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>

using namespace std::chrono_literals;

namespace {

constexpr int ranks = 4;

std::vector<std::string> part(const std::string& name) {
    return tutti_run_words({"-n", std::to_string(ranks), "--", std::getenv("TUTTI_RANK_PROGRAM"), name});
}

std::string of_rank(int rank) { return "[" + std::to_string(rank) + "] "; }

/// Whether a line of this rank contains both texts.
bool says(const outcome& all, int rank, const std::string& one, const std::string& other = "") {
    for (const std::string& line : lines(all.err))
        if (line.starts_with(of_rank(rank)) && line.find(one) != std::string::npos && line.find(other) != std::string::npos) return true;
    return false;
}

/// The process of a rank, from its line "[2] ready rank 2 pid 12345".
pid_t process_of(const std::string& out, int rank) {
    const std::string before = "ready rank " + std::to_string(rank) + " pid ";
    const auto at = out.find(before);
    REQUIRE(at != std::string::npos);
    return static_cast<pid_t>(std::stol(out.substr(at + before.size())));
}

void wait_until_all_are_ready(command& job) {
    for (int rank = 0; rank < ranks; ++rank) REQUIRE(job.printed("ready rank " + std::to_string(rank) + " "));
}

}  // namespace

TEST_CASE("when a rank is killed all others name it, whoever it is and whatever they are doing") {
    for (const std::string name : {"busy", "idle", "shutdown"})
        for (int victim = 0; victim < ranks; ++victim) {
            // At shutdown the others wait for the last rank; killing one of those that wait is the case "idle" for it.
            CAPTURE(name);
            CAPTURE(victim);
            command job(part(name));
            wait_until_all_are_ready(job);
            const auto before = std::chrono::steady_clock::now();
            REQUIRE(kill(process_of(job.so_far().out, victim), SIGKILL) == 0);
            const outcome& all = job.wait();
            const auto took = std::chrono::steady_clock::now() - before;
            INFO(all.err);
            CHECK(all.code == 128 + SIGKILL);
            for (int rank = 0; rank < ranks; ++rank)
                if (rank != victim) CHECK(says(all, rank, "rank " + std::to_string(rank) + ":", "rank " + std::to_string(victim) + " died"));
            // The launcher would end them by force after two seconds; they are to be faster by themselves.
            CHECK(took < 2s);
            CHECK(all.err.find("SIGTERM") == std::string::npos);
        }
}

TEST_CASE("ranks that call different operations are told both, all of them") {
    command job(part("mismatch"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code == 1);
    for (int rank = 0; rank < ranks; ++rank)
        CHECK(says(all, rank, "rank 2 called broadcast f32 count 10 root 0", "called all_reduce f32 sum count 10"));
}

TEST_CASE("a wrong argument on one rank is told to all") {
    command job(part("wrong_root"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code != 0);
    for (int rank = 0; rank < ranks; ++rank) CHECK(says(all, rank, "root 9 is not among the ranks 0 to 3"));
}

TEST_CASE("an exception on one rank ends the others with its text") {
    command job(part("throws"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code == 1);
    for (int rank = 0; rank < ranks; ++rank) CHECK(says(all, rank, "out of cheese"));
}

TEST_CASE("a rank that leaves in good order is told apart from one that died") {
    command job(part("leaves"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code != 0);
    for (int rank : {0, 2, 3}) CHECK(says(all, rank, "rank 1 left while"));
    CHECK(all.err.find("died") == std::string::npos);
}
