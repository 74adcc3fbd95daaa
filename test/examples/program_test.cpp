// Runs the built program as a user does.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

struct outcome {
    int code = -1;
    std::string output;
};

outcome shell(const std::string& command) {
    outcome result;
    std::FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> chunk{};
    while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) result.output.append(chunk.data(), got);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    return result;
}

const std::string program = std::string("timeout 60 '") + DIGITS_PROGRAM + "' ";
const std::string python = std::string("'") + PYTHON + "' ";

// A directory for one test case.
struct workplace {
    workplace() {
        std::string pattern = (std::filesystem::temp_directory_path() / "digits-test-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path = pattern;
    }
    ~workplace() { std::filesystem::remove_all(path); }
    workplace(const workplace&) = delete;
    workplace& operator=(const workplace&) = delete;
    std::string file(const char* name) const { return (path / name).string(); }

    std::filesystem::path path;
};

}  // namespace

TEST_CASE("bad input ends in one line and exit code 2") {
    const workplace place;
    std::ofstream(place.file("short.csv")) << "1,2,3\n";
    std::ofstream(place.file("line\nend.csv")) << "x\n";
    const struct {
        std::string arguments;
        std::string line;
    } cases[] = {
        {"--data /nowhere/digits.csv", "digits: cannot open /nowhere/digits.csv: No such file or directory\n"},
        {"--data " + place.file("short.csv"),
         "digits: " + place.file("short.csv") + ":1: found 3 columns, expected 64 pixels and a label, separated by commas\n"},
        {"--data '" + place.file("line\nend.csv") + "'",
         "digits: " + place.file("line\\x0aend.csv") + ":1: found 1 column, expected 64 pixels and a label, separated by commas\n"},
        {"--no-such-option", "digits: The following argument was not expected: --no-such-option\n"},
        {"--rate 0", "digits: --rate: expected a number above 0 and up to 100\n"},
        {"--plot /nowhere/plot.svg", "digits: cannot write /nowhere/plot.svg: No such file or directory\n"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.arguments);
        const outcome result = shell(program + each.arguments + " 2>&1");
        CHECK(result.code == 2);
        CHECK(result.output == each.line);
    }
}

TEST_CASE("a run prints one line per epoch and a summary, and writes JSON and SVG that parse") {
    const workplace place;
    const outcome result = shell(program + "--epochs 2 --json " + place.file("curve.json") + " --plot " + place.file("plot.svg"));
    CHECK(result.code == 0);
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 3);
    CHECK(result.output.starts_with("epoch 1/2  loss "));
    CHECK(result.output.find("\ntest accuracy ") != std::string::npos);
    std::ofstream(place.file("parse.py")) << "import json, sys, xml.dom.minidom\n"
                                             "curve = json.load(open(sys.argv[1]))\n"
                                             "print([e['epoch'] for e in curve['epochs']], curve['ranks'], curve['identical'])\n"
                                             "print(xml.dom.minidom.parse(sys.argv[2]).documentElement.tagName)\n";
    const outcome parsed = shell(python + place.file("parse.py") + " " + place.file("curve.json") + " " + place.file("plot.svg"));
    CHECK(parsed.output == "[1, 2] 1 True\nsvg\n");
}

TEST_CASE("with --json alone, standard output holds JSON and nothing else") {
    const outcome result = shell(program + "--epochs 1 --json 2>/dev/null | " + python + "-m json.tool --compact");
    CHECK(result.output.starts_with(R"({"ranks":1,"batch":64,)"));
    CHECK(result.output.ends_with(R"("identical":true})"
                                  "\n"));
}

TEST_CASE("a rate that makes the loss explode is said so, and is no success") {
    const outcome result = shell(program + "--rate 100 --batch 1 2>&1 | tail -n 1");
    CHECK(result.output.find("the loss is no longer a number in epoch") != std::string::npos);
    CHECK(shell(program + "--rate 100 --batch 1 >/dev/null 2>&1").code == 1);
}
