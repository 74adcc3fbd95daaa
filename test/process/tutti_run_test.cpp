#include "command.hpp"

#include "base/core_set.hpp"
#include "base/file_descriptor.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <algorithm>
#include <csignal>
#include <map>
#include <thread>

using namespace std::chrono_literals;
using tutti::core_set;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> sorted(std::vector<std::string> all) {
    std::sort(all.begin(), all.end());
    return all;
}

/// Returns what follows "port " on the first line that has it.
std::string port(const std::string& out) {
    const std::size_t at = out.find("port ");
    return at == std::string::npos ? "" : out.substr(at + 5, out.find('\n', at) - at - 5);
}

}  // namespace

TEST_CASE("every rank finds who it is in its environment") {
    const outcome all = tutti_run(
        shells(3, "echo $RANK of $WORLD_SIZE, here $LOCAL_RANK of $LOCAL_WORLD_SIZE, $TUTTI_RANK, $MASTER_ADDR, port $MASTER_PORT"));
    CHECK(all.code == 0);
    CHECK(all.err == "");
    const std::string end = ", 127.0.0.1, port " + port(all.out);
    CHECK(std::stoi(port(all.out)) > 0);
    CHECK(sorted(lines(all.out)) == std::vector<std::string>{"[0] 0 of 3, here 0 of 3, 0" + end, "[1] 1 of 3, here 1 of 3, 1" + end,
                                                             "[2] 2 of 3, here 2 of 3, 2" + end});
}

TEST_CASE("rank 0 alone inherits the socket that listens on the master port") {
    const outcome all =
        tutti_run(shells(2, "if [ -n \"$TUTTI_STORE_FD\" ]; then readlink /proc/self/fd/$TUTTI_STORE_FD; else echo none; fi"));
    const std::vector<std::string> told = sorted(lines(all.out));
    REQUIRE(told.size() == 2);
    CHECK(told[0].starts_with("[0] socket:"));
    CHECK(told[1] == "[1] none");
}

TEST_CASE("two jobs at the same time get different ports") {
    const std::vector<std::string> words = tutti_run_words(shells(1, "echo port $MASTER_PORT; exec sleep 100"));
    command first(words), second(words);
    REQUIRE(first.printed("\n"));
    REQUIRE(second.printed("\n"));
    CHECK(port(first.so_far().out) != port(second.so_far().out));
}

TEST_CASE("ranks that outnumber the cores, as many for each, share cores with their neighbours and stay there, unless told otherwise") {
    const core_set before = core_set::of_this_thread();
    struct row {
        int cores, ranks;
        std::string option;
        std::vector<int> places;  // of each rank's core among the cores; none: the rank may use them all
    };
    const row rows[] = {{2, 2, "", {}}, {2, 3, "", {}}, {2, 4, "", {0, 0, 1, 1}}, {2, 4, "--no-bind", {}}, {2, 6, "", {0, 0, 0, 1, 1, 1}}};
    for (const auto& [cores, ranks, option, places] : rows) {
        if (before.count() < cores) continue;
        CAPTURE(cores);
        CAPTURE(ranks);
        CAPTURE(option);
        core_set few;
        for (int place = 0; place < cores; ++place) few.add(before.at(place));
        const int first = few.at(0), last = few.at(cores - 1);
        const std::string both = fmt::format("{}{}{}", first, last == first + 1 ? '-' : ',', last);
        std::vector<std::string> words = shells(ranks, "sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status");
        if (!option.empty()) words = with_option(option, words);
        REQUIRE(few.bind_this_thread());
        const outcome all = tutti_run(words);
        REQUIRE(before.bind_this_thread());
        std::vector<std::string> expected;
        for (int rank = 0; rank < ranks; ++rank)
            expected.push_back(
                fmt::format("[{}] {}", rank, places.empty() ? both : std::to_string(few.at(places[static_cast<std::size_t>(rank)]))));
        CHECK(sorted(lines(all.out)) == expected);
    }
}

TEST_CASE("stdout and stderr stay apart, and each line tells its rank") {
    const outcome all = tutti_run(shells(2, "echo out; echo err >&2"));
    CHECK(sorted(lines(all.out)) == std::vector<std::string>{"[0] out", "[1] out"});
    CHECK(sorted(lines(all.err)) == std::vector<std::string>{"[0] err", "[1] err"});
}

TEST_CASE("a last line without an end is printed as a line") {
    const outcome all = tutti_run(shells(2, "printf 'one\\ntail'"));
    CHECK(sorted(lines(all.out)) == std::vector<std::string>{"[0] one", "[0] tail", "[1] one", "[1] tail"});
    CHECK(all.out.back() == '\n');
}

TEST_CASE("without prefixes the output is the rank's own, byte for byte") {
    std::string lines_of_text;
    for (int i = 0; i < 3000; ++i) lines_of_text += "line " + std::to_string(i) + "\n";
    for (const std::string& input : {lines_of_text, lines_of_text + "no end", std::string(), std::string("x"), std::string(50'000, 'x')}) {
        const outcome all = tutti_run({"-n", "1", "--no-prefix", "cat"}, input);
        CHECK(all.code == 0);
        CHECK((all.out == input));
    }
    const outcome longer = tutti_run(with_option("--no-prefix", shells(1, "head -c 3000000 /dev/zero | tr '\\0' x; echo; printf end")));
    CHECK((longer.out == std::string(3'000'000, 'x') + "\nend"));
}

TEST_CASE("rank 0 reads the launcher's input and the others read nothing") {
    const outcome all = tutti_run(shells(2, "cat"), "hello\n");
    CHECK(all.out == "[0] hello\n");
}

TEST_CASE("long lines of several ranks are never mixed") {
    const std::string script = "i=0; while [ $i -lt 20 ]; do head -c 65536 /dev/zero | tr '\\0' $RANK; echo; i=$((i+1)); done";
    const outcome all = tutti_run(shells(3, script));
    CHECK(all.code == 0);
    std::map<std::string, int> seen;
    for (const std::string& line : lines(all.out)) ++seen[line];
    CHECK(seen.size() == 3);
    for (const char rank : {'0', '1', '2'}) CHECK(seen["[" + std::string(1, rank) + "] " + std::string(65536, rank)] == 20);
}

TEST_CASE("a time limit ends all ranks with code 124") {
    const outcome all = tutti_run(with_option("--timeout=0.2", shells(2, "exec sleep 100")));
    CHECK(all.code == 124);
    CHECK(all.err == "tutti-run: the time limit of 0.2 s has passed; ending all ranks\n");
    CHECK(all.took >= 200ms);
}

TEST_CASE("a run that is quicker than its time limit is not touched by it") {
    CHECK(tutti_run(with_option("--timeout=30", shells(2, "exit 0"))).code == 0);
}

TEST_CASE("a signal is passed on to all ranks") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        CAPTURE(signal);
        const std::string script = "trap 'echo got it; exit 0' INT TERM HUP QUIT; echo ready $RANK; while :; do sleep 0.01; done";
        command launcher(tutti_run_words(shells(2, script)));
        REQUIRE(launcher.printed("ready 0"));
        REQUIRE(launcher.printed("ready 1"));
        ::kill(launcher.pid(), signal);
        const outcome& all = launcher.wait();
        CHECK(all.code == 0);
        CHECK(contains(all.out, "[0] got it"));
        CHECK(contains(all.out, "[1] got it"));
        CHECK(contains(all.err, "tutti-run: received signal " + std::to_string(signal)));
    }
}

TEST_CASE("a second signal kills ranks that ignored the first") {
    command launcher(tutti_run_words(shells(1, "trap '' INT TERM; echo ready; while :; do sleep 0.01; done")));
    REQUIRE(launcher.printed("ready"));
    ::kill(launcher.pid(), SIGINT);
    ::kill(launcher.pid(), SIGTERM);
    CHECK(launcher.wait().code >= 128);
}

TEST_CASE("a signal that comes twice at once, as from timeout, is one") {
    for (int time = 0; time < 5; ++time) {  // the system makes one of two that it has not brought yet
        command launcher(tutti_run_words(shells(1, "trap 'sleep 0.1; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done")));
        REQUIRE(launcher.printed("ready"));
        ::kill(launcher.pid(), SIGTERM);
        ::kill(launcher.pid(), SIGTERM);
        CHECK(launcher.wait().code == 0);
        CHECK(contains(launcher.so_far().out, "[0] saved"));
    }
}

TEST_CASE("a signal that was ignored before, as by nohup, stays ignored") {
    const std::string script = "trap \"echo done; exit 0\" USR1; echo ready; while :; do sleep 0.01; done";
    command launcher({"/bin/sh", "-c", "trap '' HUP; exec " + tutti_run_words({}).front() + " -n 1 /bin/sh -c '" + script + "'"});
    REQUIRE(launcher.printed("ready"));
    for (int time = 0; time < 2; ++time) ::kill(launcher.pid(), SIGHUP);
    ::kill(launcher.pid(), SIGUSR1);
    CHECK(launcher.wait().code == 0);
    CHECK(contains(launcher.so_far().out, "[0] done"));
    CHECK_FALSE(contains(launcher.so_far().err, "tutti-run:"));  // the shell may tell of its sleep
}

TEST_CASE("signals of the user's are passed on, and end nothing by themselves") {
    command launcher(
        tutti_run_words(shells(1, "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; while :; do sleep 0.01; done")));
    REQUIRE(launcher.printed("ready"));
    ::kill(launcher.pid(), SIGUSR1);
    REQUIRE(launcher.printed("one"));
    ::kill(launcher.pid(), SIGUSR2);
    CHECK(launcher.wait().code == 0);
    CHECK(launcher.so_far().out == "[0] ready\n[0] one\n[0] two\n");
    CHECK_FALSE(contains(launcher.so_far().err, "tutti-run:"));  // the shell may tell of its sleep
}

TEST_CASE("output that cannot be written is told with the system's reason") {
    command launcher({"/bin/sh", "-c", tutti_run_words({}).front() + " -n 1 echo hello >/dev/full"});
    CHECK(launcher.wait().code == 1);
    CHECK(contains(launcher.so_far().err, "tutti-run: cannot write the output: No space left on device"));
}

TEST_CASE("ranks die with a launcher that is killed") {
    command launcher(tutti_run_words({"-n", "2", "/bin/sh", "-c", "echo pid $$; exec sleep 60"}));
    REQUIRE(launcher.printed("[0] pid "));
    REQUIRE(launcher.printed("[1] pid "));
    ::kill(launcher.pid(), SIGKILL);
    // The launcher's ends of the ranks' pipes are gone with it; its own output ends only when no process holds it.
    const outcome& all = launcher.wait();
    CHECK(all.code == 137);
    for (const std::string& line : lines(all.out)) {
        const pid_t rank = std::stoi(line.substr(line.find("pid ") + 4));
        struct stat about {};
        // Another process reaps it, soon; until then it is a zombie, which takes no signal's effect.
        for (int i = 0; i < 1000 && ::kill(rank, 0) == 0 && ::stat(("/proc/" + std::to_string(rank) + "/exe").c_str(), &about) == 0; ++i)
            ::usleep(1000);
        CHECK((::kill(rank, 0) != 0 || ::stat(("/proc/" + std::to_string(rank) + "/exe").c_str(), &about) != 0));
    }
}

TEST_CASE("what a rank has left behind does not keep the launcher, but may say its last words") {
    const outcome all = tutti_run(shells(1, "echo first; (sleep 0.01; echo late) & sleep 100 &"));
    CHECK(all.code == 0);
    CHECK(all.out == "[0] first\n[0] late\n");
}

TEST_CASE("a program that does not exist is told once, with code 127") {
    for (const std::string name : {"no-such-program", "/no/such/program"}) {
        const outcome all = tutti_run({"-n", "4", name});
        CHECK(all.code == 127);
        CHECK(all.err == "tutti-run: cannot start " + name + ": no such program\n");
    }
    const outcome refused = tutti_run({"-n", "4", "/etc/passwd"});
    CHECK(refused.code == 126);
    CHECK(lines(refused.err).size() == 1);
}

TEST_CASE("a wrong command line is one clear line and code 2") {
    struct {
        std::vector<std::string> arguments;
        const char* told;
    } const rows[] = {{{"-n", "2"}, "no program"},
                      {{"-n", "2", "--"}, "no program"},
                      {{"-n", "0", "true"}, "1 to 1024"},
                      {{"-n", "1025", "true"}, "1 to 1024"},
                      {{"-n", "-1", "true"}, "1 to 1024"},
                      {{"-n", "two", "true"}, "1 to 1024"},
                      {{"true"}, "required"},
                      {{}, "required"},
                      {{"-n", "2", "--unknown", "true"}, "--unknown"},
                      {{"-n", "2", "--timeout", "0", "true"}, "--timeout"},
                      {{"-n", "2", "--timeout", "soon", "true"}, "--timeout"},
                      {{"-n", "2", "--timeout", "nan", "true"}, "--timeout"},
                      {{"-n", "2", "--timeout=-NaN", "true"}, "--timeout"},
                      {{"-n", "2", "--timeout", "inf", "true"}, "--timeout"},
                      {{"-n", "2", "--grace", "nan", "true"}, "--grace"},
                      {{"-n", "2", "--grace", "inf", "true"}, "--grace"},
                      {{"-n", "2", "--grace=-1", "true"}, "--grace"},
                      {{"-n"}, "--ranks"}};
    for (const auto& one : rows) {
        CAPTURE(one.told);
        const outcome all = tutti_run(one.arguments);
        CHECK(all.code == 2);
        CHECK(all.out == "");
        CHECK(lines(all.err).size() == 1);
        CHECK(all.err.starts_with("tutti-run: "));
        CHECK_MESSAGE(contains(all.err, one.told), all.err);
    }
}

TEST_CASE("the program's own options and dashes are its own") {
    const outcome all = tutti_run({"-n", "1", "echo", "-n", "--help", "--", "x"});
    CHECK(all.out == "[0] --help -- x\n");
    CHECK(tutti_run({"-n1", "--", "echo", "--timeout=1"}).out == "[0] --timeout=1\n");
}

TEST_CASE("help is printed with code 0") {
    const outcome all = tutti_run({"--help"});
    CHECK(all.code == 0);
    CHECK(contains(all.out, "Usage: tutti-run -n N [options] [--] program"));
    CHECK(contains(all.out, "--timeout SECONDS"));
}

TEST_CASE("a reader of the output that goes away ends the run") {
    command pipeline({"/bin/sh", "-c", tutti_run_words({}).front() + " --grace=0.1 -n 2 yes | head -n 1"});
    const std::vector<std::string> told = lines(pipeline.wait().out);
    REQUIRE(told.size() == 1);
    CHECK((told[0] == "[0] y" || told[0] == "[1] y"));
}

TEST_CASE("standard streams that are closed stay empty, and nothing else takes their place") {
    struct {
        std::string closed;
        std::vector<std::string> out, err;
    } const rows[] = {{"<&-", {"[0] out", "[1] out"}, {"[0] err", "[1] err"}},
                      {">&-", {}, {"[0] err", "[1] err"}},
                      {"2>&-", {"[0] out", "[1] out"}, {}},
                      {">&- 2>&-", {}, {}},
                      {"<&- >&- 2>&-", {}, {}}};
    // Rank 0 fails unless it finds its socket.
    const std::string script = "cat; echo out; echo err >&2; test $RANK = 1 || readlink /proc/self/fd/$TUTTI_STORE_FD | grep -q socket";
    for (const auto& one : rows) {
        CAPTURE(one.closed);
        command launcher({"/bin/sh", "-c", "exec " + tutti_run_words({}).front() + " -n 2 /bin/sh -c '" + script + "' " + one.closed});
        const outcome& all = launcher.wait_unread();
        CHECK(all.code == 0);
        CHECK(sorted(lines(all.out)) == one.out);
        CHECK(sorted(lines(all.err)) == one.err);
    }
}

TEST_CASE("a reader that pauses gets everything in order, also after a signal") {
    // When the rank has ended its last bytes are still in its pipe: the launcher keeps no more than 4 MiB, and its own pipe 64 KiB.
    const std::size_t size = (4 << 20) + (128 << 10);
    std::string expected;
    for (int i = 1; expected.size() < size; ++i) expected += std::to_string(i) + "\n";
    expected = "ready\n" + expected.substr(0, size);
    const std::string script = "trap '' TERM; echo ready; sleep 0.1; seq 1000000 | head -c " + std::to_string(size);
    const std::vector<std::string> words = tutti_run_words(with_option("--no-prefix", shells(1, script)));
    command left_alone(words), told(words);
    for (command* one : {&left_alone, &told}) REQUIRE(one->printed("ready\n"));
    std::this_thread::sleep_for(1s);  // longer than the launcher listens to what a rank has left behind
    ::kill(told.pid(), SIGTERM);
    for (command* one : {&told, &left_alone}) {  // a launcher that was told waits 2 s for its reader
        const outcome& all = one->wait();
        CHECK(all.code == 0);
        CHECK((all.out == expected));  // without telling it
    }
    CHECK(left_alone.so_far().err == "");
    CHECK(told.so_far().err.starts_with("tutti-run: received signal 15"));
}

TEST_CASE("a reader that stalls holds up neither the time limit nor a signal") {
    const tutti::file_descriptor screen(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(screen);
    REQUIRE(::unlockpt(screen.number()) == 0);
    const std::string terminal = ::ptsname(screen.number());
    command limited(tutti_run_words(with_option("--timeout=1", shells(2, "exec yes"))));
    command shown({"/bin/sh", "-c", "exec " + tutti_run_words({}).front() + " --timeout=1 -n 2 yes >" + terminal});
    command told(tutti_run_words(shells(1, "trap '' TERM; echo ready; exec seq 60000")));
    REQUIRE(told.printed("ready"));
    ::kill(told.pid(), SIGTERM);
    for (command* one : {&told, &limited, &shown}) {
        const outcome& all = one->wait_unread();
        CHECK(all.code == (one == &told ? 128 + SIGTERM : 124));
        CHECK(contains(all.err, one == &told ? "received signal 15" : "the time limit of 1 s has passed"));
        CHECK(contains(all.err, "tutti-run: nobody has read the output for 2 s; its last "));
    }
}
