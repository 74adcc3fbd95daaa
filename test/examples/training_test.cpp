// The example on several ranks, started as users start it.
#include "command.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace std::chrono_literals;

namespace {

// A directory for one test case.
struct workplace {
    workplace() {
        std::string pattern = (std::filesystem::temp_directory_path() / "training-test-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path = pattern;
    }
    ~workplace() { std::filesystem::remove_all(path); }
    workplace(const workplace&) = delete;
    workplace& operator=(const workplace&) = delete;
    std::string file(const std::string& name) const { return (path / name).string(); }

    std::filesystem::path path;
};

std::string text_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

using words = std::vector<std::string>;

/// `grace`: seconds until the launcher ends ranks that do not end by themselves.
words digits(int ranks, const words& arguments, int grace = 2) {
    words all = tutti_run_words({"-n", std::to_string(ranks), "--grace=" + std::to_string(grace), "--", std::getenv("TUTTI_TEST_DIGITS")});
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
}

outcome train(int ranks, const words& arguments) {
    command job(digits(ranks, arguments));
    return job.wait();
}

// Returns the numbers behind `"name": ` in JSON, in order.
std::vector<double> numbers(const std::string& json, const std::string& name) {
    const std::string key = "\"" + name + "\": ";
    std::vector<double> all;
    for (std::size_t at = json.find(key); at != json.npos; at = json.find(key, at + 1))
        all.push_back(std::strtod(json.c_str() + at + key.size(), nullptr));
    return all;
}

// Returns what one rank printed, without the launcher's "[2] ".
words said_by(int rank, const std::string& text) {
    const std::string prefix = std::string("[").append(std::to_string(rank)).append("] ");
    words all;
    for (const std::string& line : lines(text))
        if (line.starts_with(prefix)) all.push_back(line.substr(prefix.size()));
    return all;
}

// The process that the launcher started for a rank, from /proc.
pid_t process_of(pid_t launcher, int rank) {
    const std::string parent = "PPid:\t" + std::to_string(launcher) + "\n";
    const std::string variable = std::string("RANK=") + std::to_string(rank);
    for (const auto& each : std::filesystem::directory_iterator("/proc")) {
        if (text_of(each.path() / "status").find(parent) == std::string::npos) continue;
        const std::string environment = '\0' + text_of(each.path() / "environ");
        if (environment.find('\0' + variable + '\0') != std::string::npos) return std::stoi(each.path().filename());
    }
    return -1;
}

}  // namespace

TEST_CASE("four ranks reach 96 %, agree bit for bit, and only rank 0 speaks") {
    const outcome all = train(4, {});
    INFO(all.out);
    INFO(all.err);
    CHECK(all.code == 0);
    CHECK(all.err.empty());
    const words said = lines(all.out);
    REQUIRE(said.size() == 26);
    for (const std::string& line : said) CHECK(line.starts_with("[0] "));
    CHECK(said.front().starts_with("[0] epoch  1/25  loss "));
    CHECK(said.front().ends_with(" % of communication hidden"));
    const std::string start = "[0] test accuracy ";
    CHECK(said.back().starts_with(start));
    CHECK(std::strtod(said.back().c_str() + start.size(), nullptr) >= 96);
    CHECK(said.back().ends_with(" s on 4 ranks, parameters bit-identical on all ranks"));
}

// Sums that are grouped differently differ in their last bits (6e-8 of a float), and training multiplies the difference from step to
// step: after three epochs, 69 steps, the losses were up to 2.4e-7 apart. The limit leaves room for other processors' rounding.
TEST_CASE("with the same global batch 1, 2, 3 and 4 ranks walk the same curve, to rounding") {
    const workplace place;
    std::vector<double> alone;
    for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(ranks);
        const std::string file = place.file("curve.json");
        const outcome all = train(ranks, {"--epochs", "3", "--json", file});
        INFO(all.err);
        REQUIRE(all.code == 0);
        const std::string json = text_of(file);
        CHECK(numbers(json, "ranks") == std::vector<double>{static_cast<double>(ranks)});
        CHECK(json.find("\"identical\": true") != json.npos);
        CHECK((json.find("\"hidden\": null") != json.npos) == (ranks == 1));
        for (const double hidden : numbers(json, "hidden")) CHECK((hidden >= 0 && hidden <= 1));
        const std::vector<double> losses = numbers(json, "loss");
        REQUIRE(losses.size() == 3);
        if (ranks == 1) alone = losses;
        for (std::size_t i = 0; i < losses.size(); ++i) {
            CAPTURE(i);
            CHECK(std::abs(losses[i] - alone[i]) < 1e-5 * alone[i]);
        }
    }
}

TEST_CASE("more ranks than images in a batch train all the same") {
    const outcome all = train(4, {"--epochs", "1", "--batch", "3", "--rate", "0.002"});
    INFO(all.err);
    CHECK(all.code == 0);
    CHECK(all.out.find("bit-identical on all ranks") != std::string::npos);
}

TEST_CASE("bad input ends in one line and exit code 2 on all ranks") {
    const workplace place;
    std::ofstream(place.file("short.csv")) << "1,2,3\n";
    const struct {
        words arguments;
        const char* line;    // of every rank, without "rank N: "
        const char* others;  // of the ranks but 0, where theirs differs
    } cases[] = {
        {{"--data", "/nowhere/digits.csv"}, "cannot open /nowhere/digits.csv: No such file or directory", nullptr},
        {{"--data", place.file("short.csv")}, ":1: found 3 columns, expected 64 pixels and a label, separated by commas", nullptr},
        {{"--no-such-option"}, "digits: The following argument was not expected: --no-such-option", nullptr},
        {{"--batch", "0"}, "--batch: ", nullptr},
        {{"--rate", "nan"}, "--rate: expected a number above 0 and up to 100", nullptr},
        {{"--plot", "/nowhere/plot.svg"}, "cannot write /nowhere/plot.svg: No such file or directory", "rank 0 could not begin"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.line);
        const outcome all = train(4, each.arguments);
        INFO(all.err);
        CHECK(all.code == 2);
        CHECK(all.out.empty());
        for (int rank = 0; rank < 4; ++rank) {
            const words said = said_by(rank, all.err);
            REQUIRE(said.size() == 1);
            CHECK(said[0].starts_with("digits: "));
            CHECK(said[0].find(rank > 0 && each.others != nullptr ? each.others : each.line) != std::string::npos);
        }
    }
}

TEST_CASE("a rank that cannot begin is named by the others") {
    const workplace place;
    std::filesystem::copy_file(DIGITS_DATA, place.file("0.csv"));
    for (const int rank : {1, 3}) std::filesystem::copy_file(DIGITS_DATA, place.file(std::to_string(rank) + ".csv"));
    const std::string script = std::string("exec \"$TUTTI_TEST_DIGITS\" --data ") + place.file("$RANK.csv");
    const outcome all = tutti_run(shells(4, script));
    INFO(all.err);
    CHECK(all.code == 2);
    for (const int rank : {0, 1, 3})
        CHECK(said_by(rank, all.err) == words{"digits: rank " + std::to_string(rank) + ": rank 2 could not begin"});
    CHECK(said_by(2, all.err) == words{"digits: rank 2: cannot open " + place.file("2.csv") + ": No such file or directory"});
}

TEST_CASE("an environment that contradicts itself ends in one line and exit code 2") {
    const outcome all = tutti_run(shells(4, "RANK=4 exec \"$TUTTI_TEST_DIGITS\""));
    INFO(all.err);
    CHECK(all.code == 2);
    for (int rank = 0; rank < 4; ++rank) {
        const words said = said_by(rank, all.err);
        REQUIRE(said.size() == 1);
        CHECK(said[0].find("RANK") != std::string::npos);
    }
}

TEST_CASE("a killed rank ends the training of all, and all name it") {
    command job(digits(4, {"--epochs", "100000"}, 1000));  // longer than we wait: all end by themselves
    REQUIRE(job.printed("epoch      2/"));
    const pid_t victim = process_of(job.pid(), 2);
    REQUIRE(victim > 0);
    REQUIRE(kill(victim, SIGKILL) == 0);
    const outcome& all = job.wait();
    INFO(all.err);
    CHECK(all.code == 128 + SIGKILL);
    for (const int rank : {0, 1, 3}) {
        const words said = said_by(rank, all.err);
        REQUIRE(said.size() == 1);
        CHECK(said[0].find("rank 2 died") != std::string::npos);
    }
}
