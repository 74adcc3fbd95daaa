#include "table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace perf;

namespace {

row example() {
    row made;
    made.op = "all_reduce";
    made.bytes = 4'000'000;
    made.count = 1'000'000;
    made.type = "f32";
    made.reduce_op = "sum";
    made.ranks = 4;
    made.transport = "tcp";
    made.algorithm = "ring";
    made.times = {0.001, 0.002, 0.003, 0.0005};
    made.bus_factor = 1.5;
    made.wrong = 0;
    return made;
}

std::vector<std::string> words(const std::string& line) {
    std::istringstream text(line);
    std::vector<std::string> all;
    for (std::string word; text >> word;) all.push_back(word);
    return all;
}

}  // namespace

TEST_CASE("a line has the columns of its heading") {
    const std::string head = heading();
    CHECK(words(head.substr(0, head.find('\n'))) == std::vector<std::string>{"bytes", "count", "type", "op", "algorithm", "time_us",
                                                                             "min_us", "p99_us", "algbw", "busbw", "cpu", "wrong"});
    CHECK(words(to_line(example())) == std::vector<std::string>{"4000000", "1000000", "f32", "sum", "ring", "2000.00", "1000.00", "3000.00",
                                                                "2.000", "3.000", "0.125", "0"});
}

TEST_CASE("what was not looked at is neither right nor wrong") {
    row unknown = example();
    unknown.wrong = -1;
    CHECK(words(to_line(unknown)).back() == "-");
    CHECK(to_json({unknown}).find(R"("wrong": null)") != std::string::npos);
}

TEST_CASE("an operation without bytes has no bandwidth and costs nothing by the byte") {
    row none = example();
    none.bytes = none.count = 0;
    CHECK(none.algorithm_bandwidth() == 0);
    CHECK(none.bus_bandwidth() == 0);
    CHECK(none.cpu_seconds_per_gigabyte() == 0);
}

TEST_CASE("JSON is one array of objects, whatever their number") {
    CHECK(to_json({}) == "[\n]\n");
    const std::string two = to_json({example(), example()});
    CHECK(std::ranges::count(two, '{') == 2);
    CHECK(std::ranges::count(two, '}') == 2);
    CHECK(
        to_json({example()}) ==
        "[\n"
        R"(  {"op": "all_reduce", "bytes": 4000000, "count": 1000000, "type": "f32", "reduce_op": "sum", "ranks": 4, "transport": "tcp", "algorithm": "ring",)"
        "\n"
        R"(   "time_us_min": 1000.000, "time_us_median": 2000.000, "time_us_p99": 3000.000, "algbw_GBps": 2.000000, "busbw_GBps": 3.000000,)"
        "\n"
        R"(   "cpu_s_per_GB": 0.125000, "wrong": 0})"
        "\n]\n");
}
