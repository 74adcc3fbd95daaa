#include "command.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace std::chrono_literals;

namespace {

constexpr int ranks = 4;

/// `grace`: seconds until the launcher ends ranks that do not end by themselves.
std::vector<std::string> part(const std::string& name, int size = ranks, int grace = 2) {
    return tutti_run_words({"-n", std::to_string(size), "--grace=" + std::to_string(grace), "--", std::getenv("TUTTI_TEST_RANK_PROGRAM"), name});
}

std::string of_rank(int rank) { return "[" + std::to_string(rank) + "] "; }

/// Returns whether a line of this rank contains both texts.
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

/// Set while it lives.
class with_variable {
public:
    with_variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~with_variable() { unsetenv(name_); }

private:
    const char* const name_;
};

std::set<std::string> memory_with_names() {
    std::set<std::string> names;
    for (const char* const folder : {"/dev/shm", "/dev/mqueue"})
        if (std::filesystem::exists(folder))
            for (const auto& each : std::filesystem::directory_iterator(folder))
                if (each.path().string().find("tutti-") != std::string::npos) names.insert(each.path());
    return names;
}

/// Those of sockets, each with the number by which "/proc/PID/fd" knows it.
std::map<std::string, std::string> names_of_sockets() {
    std::map<std::string, std::string> names;
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) {
        std::istringstream words(line);
        std::string word, number, name;
        for (int column = 0; column < 6; ++column) words >> word;
        if (words >> number >> name && name.starts_with("@tutti-")) names.emplace("socket:[" + number + "]", name);
    }
    return names;
}

/// The names by which others find this process.
std::set<std::string> names_of(pid_t process) {
    const auto all = names_of_sockets();
    std::error_code closed_meanwhile;
    std::set<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd"))
        if (const auto found = all.find(std::filesystem::read_symlink(each, closed_meanwhile)); found != all.end())
            names.insert(found->second);
    return names;
}

void kill_each_in_turn() {
    for (const std::string name : {"busy", "spread", "lending", "idle", "shutdown"})
        for (int victim = 0; victim < ranks; ++victim) {
            // At shutdown the others wait for the last rank; killing one of those that wait is the case "idle" for it.
            CAPTURE(name);
            CAPTURE(victim);
            command job(part(name, ranks, 1000));  // longer than we wait: all end by themselves
            wait_until_all_are_ready(job);
            REQUIRE(kill(process_of(job.so_far().out, victim), SIGKILL) == 0);
            const outcome& all = job.wait();
            INFO(all.err);
            CHECK(all.code == 128 + SIGKILL);
            for (int rank = 0; rank < ranks; ++rank)
                if (rank != victim)
                    CHECK(says(all, rank, "rank " + std::to_string(rank) + ":", "rank " + std::to_string(victim) + " died"));
        }
}

}  // namespace

TEST_CASE("when a rank is killed all others name it, whoever it is, whatever they are doing, and however they are connected") {
    for (const char* const transport : {"tcp", "shm"}) {  // "auto" is "shm" on one host
        CAPTURE(transport);
        const with_variable chosen("TUTTI_TRANSPORT", transport);
        kill_each_in_turn();
    }
}
TEST_CASE("a job that is killed leaves nothing behind, and while it runs has nothing but its sockets' names") {
    const with_variable chosen("TUTTI_TRANSPORT", "shm");
    command job(part("busy"));
    wait_until_all_are_ready(job);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank) processes.push_back(process_of(job.so_far().out, rank));
    for (const pid_t each : processes) {
        std::ifstream maps("/proc/" + std::to_string(each) + "/maps");
        std::string text((std::istreambuf_iterator<char>(maps)), {});
        CHECK(text.find("/memfd:tutti-link (deleted)") != std::string::npos);
    }
    std::set<std::string> ours;
    for (const pid_t each : processes) ours.merge(names_of(each));
    CHECK(ours.size() == ranks);
    for (const pid_t each : processes) kill(each, SIGKILL);
    job.wait();
    for (const auto& [number, name] : names_of_sockets()) CHECK_FALSE(ours.contains(name));
    CHECK(memory_with_names().empty());
}

TEST_CASE("a rank holds one descriptor for each link in shared memory, and a listening socket") {
    const with_variable chosen("TUTTI_TRANSPORT", "shm");
    command job(part("sockets"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code == 0);
    // Lanes for small and for bulk data to each of three peers; control links to the parent and to children, 0 to 1 and 2, 1 to 3.
    const int control_links[ranks] = {2, 2, 1, 1};
    for (int rank = 0; rank < ranks; ++rank)
        CHECK(all.out.find(of_rank(rank) + "rank " + std::to_string(rank) + " sockets " +
                           std::to_string(1 + control_links[rank] + 3 + 3)) != std::string::npos);
}

TEST_CASE("ranks that exit without closing keep no other from it") {
    constexpr int size = 16;
    for (const char* const transport : {"shm", "tcp"}) {
        CAPTURE(transport);
        const with_variable chosen("TUTTI_TRANSPORT", transport);
        command job(part("exit_early", size));
        const outcome& all = job.wait();
        INFO(all.err);
        CHECK(all.code == 0);
        for (int rank = 0; rank < size; rank += 2)
            CHECK(all.out.find(of_rank(rank) + "rank " + std::to_string(rank) + " closed") != std::string::npos);
    }
}

TEST_CASE("a job plays two hosts on one: memory within, TCP between") {
    const std::string program = std::getenv("TUTTI_TEST_RANK_PROGRAM");
    const outcome all = tutti_run(shells(ranks, "TUTTI_HOST=$((RANK / 2)) exec " + program + " hosts"));
    INFO(all.err);
    CHECK(all.code == 0);
    const char* const told[] = {"me shm tcp tcp", "shm me tcp tcp", "tcp tcp me shm", "tcp tcp shm me"};
    for (int rank = 0; rank < ranks; ++rank)
        CHECK(all.out.find(of_rank(rank) + "rank " + std::to_string(rank) + " of 2 hosts: " + told[rank]) != std::string::npos);
}

TEST_CASE("a host that is no number is told before anything is tried") {
    const with_variable chosen("TUTTI_HOST", "two");
    command job(part("idle"));
    const outcome& all = job.wait();
    CHECK(all.code == 2);
    for (int rank = 0; rank < ranks; ++rank) CHECK(says(all, rank, "TUTTI_HOST=two is not a whole number from 0 on"));
}

TEST_CASE("a transport that does not exist is told before anything is tried") {
    const with_variable chosen("TUTTI_TRANSPORT", "pigeon");
    command job(part("idle"));
    const outcome& all = job.wait();
    CHECK(all.code == 2);
    for (int rank = 0; rank < ranks; ++rank) CHECK(says(all, rank, "TUTTI_TRANSPORT=pigeon is not auto, tcp or shm"));
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

TEST_CASE("an exception on one rank ends the others with its text, or with the word that it has none") {
    for (const auto& [what, told] :
         {std::pair{"throws", "out of cheese"}, std::pair{"throws_a_number", "main threw something that is no std::exception"}}) {
        command job(part(what));
        const outcome& all = job.wait();
        INFO(all.err);
        CHECK(all.code == 1);
        for (int rank = 0; rank < ranks; ++rank) CHECK(says(all, rank, told));
    }
}

TEST_CASE("a program that has closed its communicator goes on, whether that had failed or not") {
    for (const auto& [what, said] : {std::pair{"closes", "closed rank "}, std::pair{"fails_and_closes", "failed rank "}}) {
        command job(part(what));
        const outcome& all = job.wait();
        INFO(all.err);
        CHECK(all.code == 0);
        for (int rank = 0; rank < ranks; ++rank) CHECK(all.out.find(said + std::to_string(rank)) != std::string::npos);
    }
}

TEST_CASE("all ranks that met in the store of rank 0 name the one that did not come") {
    command job(part("late"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code == 1);
    for (int rank : {0, 1, 3}) CHECK(says(all, rank, "of 4 ranks these did not come in time: 2"));
}

TEST_CASE("a rank that leaves in good order is told apart from one that died") {
    command job(part("leaves"));
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code != 0);
    for (int rank : {0, 2, 3}) CHECK(says(all, rank, "rank 1 left while"));
    CHECK(all.err.find("died") == std::string::npos);
}

TEST_CASE("ranks that have heard of a failure save what they have, and the launcher hears that the job can be started again") {
    const outcome all = tutti_run({"-n", "4", "--grace=60", "--", std::getenv("TUTTI_TEST_RANK_PROGRAM"), "saves"});
    CHECK(all.code == 75);
    for (const int rank : {0, 1, 3}) {
        CAPTURE(rank);
        CHECK(all.out.find(of_rank(rank) + "saved rank " + std::to_string(rank)) != std::string::npos);
    }
}
