#include "table.hpp"

#include <doctest/doctest.h>

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
    CHECK(to_json({}) == "[]\n");
    const std::string one = R"({
    "op": "all_reduce",
    "bytes": 4000000,
    "count": 1000000,
    "type": "f32",
    "reduce_op": "sum",
    "ranks": 4,
    "transport": "tcp",
    "algorithm": "ring",
    "time_us_min": 1000.0,
    "time_us_median": 2000.0,
    "time_us_p99": 3000.0,
    "algbw_GBps": 2.0,
    "busbw_GBps": 3.0,
    "cpu_s_per_GB": 0.125,
    "wrong": 0
  })";
    CHECK(to_json({example()}) == "[\n  " + one + "\n]\n");
    CHECK(to_json({example(), example()}) == "[\n  " + one + ",\n  " + one + "\n]\n");
}

TEST_CASE("JSON has six digits of what was measured, and null for what is no finite number") {
    row made = example();
    made.times = {0.1 / 3, 0, 1234.5678901, 0};
    const std::string text = to_json({made});
    for (const char* piece : {R"("time_us_min": 33333.3,)", R"("time_us_p99": 1234570000.0,)", R"("algbw_GBps": null,)"})
        CHECK_MESSAGE(text.find(piece) != std::string::npos, text);
}
