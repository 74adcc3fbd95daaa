// The numbers that the benchmark computes from times, without a device: intervals, percentiles, figures of a step, the drawing, JSON.
#include "figures.hpp"
#include "intervals.hpp"
#include "report.hpp"
#include "timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace metrics_test {

using namespace gpu_bench;

namespace {

std::size_t count_of(const std::string& text, const std::string& piece) {
    std::size_t found = 0;
    for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("a union counts what overlaps once, whatever the order, and what touches as one") {
    struct row {
        std::vector<interval> all;
        std::size_t apart;
        double length;
    };
    const row rows[] = {
        {{}, 0, 0},
        {{{1, 1, ""}}, 0, 0},
        {{{2, 1, ""}}, 0, 0},
        {{{0, 1, ""}, {2, 3, ""}}, 2, 2},
        {{{2, 3, ""}, {0, 2, ""}}, 1, 3},
        {{{0, 10, ""}, {1, 2, ""}, {3, 4, ""}}, 1, 10},
        {{{0, 2, ""}, {1, 3, ""}, {5, 6, ""}, {5.5, 7, ""}}, 2, 5},
    };
    for (const row& each : rows) {
        CHECK(united(each.all).size() == each.apart);
        CHECK(length_of(each.all) == doctest::Approx(each.length));
    }
}

TEST_CASE("what is common to two sets of intervals is what a count of moments says") {
    const std::uint64_t seed = 7;
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<interval> sets[2];
        bool busy[2][100]{};
        for (int set = 0; set < 2; ++set)
            for (int i = 0; i < 8; ++i) {
                const auto from = random() % 100, to = std::min<std::uint64_t>(100, from + random() % 20);
                sets[set].push_back({static_cast<double>(from), static_cast<double>(to), ""});
                for (auto at = from; at < to; ++at) busy[set][at] = true;
            }
        int common = 0;
        for (int at = 0; at < 100; ++at) common += busy[0][at] && busy[1][at];
        CHECK(common_to(sets[0], sets[1]) == doctest::Approx(common));
        CHECK(common_to(sets[1], sets[0]) == doctest::Approx(common));
        CHECK(length_of(sets[0]) == doctest::Approx(static_cast<double>(std::count(std::begin(busy[0]), std::end(busy[0]), true))));
    }
}

TEST_CASE("percentiles are found among values in any order, of few of them too") {
    std::vector<double> values;
    for (int i = 100; i >= 1; --i) values.push_back(i);
    auto found = percentiles_of(values);
    CHECK(found.least == 1);
    CHECK(found.p50 == 50);
    CHECK(found.p99 == 99);
    CHECK(found.most == 100);
    CHECK(percentiles_of({3}).p50 == 3);
    CHECK(percentiles_of({3}).p99 == 3);
    CHECK(percentiles_of({}).p99 == 0);
}

TEST_CASE("the figures of a step are those of the definition") {
    struct row {
        const char* what;
        step_times measured;
        step_figures expected;
    };
    const row rows[] = {
        {"all is hidden but the last layer's", {10, 10, 11, 10, 10}, {1, 0.9, 11, 1, 1}},
        {"nothing is hidden", {10, 10, 20, 10, 10}, {10, 0, 11, 20.0 / 11, 1}},
        {"computing decides", {30, 10, 31, 10, 30}, {1, 0.9, 30, 31.0 / 30, 1}},
        {"communication decides", {10, 40, 41, 10, 12}, {31, 1 - 31.0 / 40, 41, 1, 1.2}},
        {"both are slower together than one after the other", {10, 10, 25, 5, 15}, {15, -0.5, 12, 25.0 / 12, 1.5}},
    };
    for (const row& each : rows) {
        CAPTURE(each.what);
        const auto found = figures_of(each.measured);
        CHECK(found.exposed == doctest::Approx(each.expected.exposed));
        CHECK(found.efficiency == doctest::Approx(each.expected.efficiency));
        CHECK(found.bound == doctest::Approx(each.expected.bound));
        CHECK(found.of_bound == doctest::Approx(each.expected.of_bound));
        CHECK(found.slowdown == doctest::Approx(each.expected.slowdown));
    }
}

TEST_CASE("what overlaps is drawn in rows of its own, as few as do") {
    CHECK(rows_of({}).empty());
    CHECK(rows_of({{0, 1, ""}, {1, 2, ""}, {2, 3, ""}}) == std::vector{0, 0, 0});
    CHECK(rows_of({{0, 3, ""}, {1, 4, ""}, {3, 5, ""}, {3.5, 4, ""}}) == std::vector{0, 1, 0, 2});
    CHECK(rows_of({{5, 6, ""}, {0, 5.5, ""}}) == std::vector{1, 0});
}

TEST_CASE("the drawing has each interval once, in its place, with its name made safe") {
    const std::vector<band> bands{{"compute", {{0, 0.004, "layer 0"}, {0.004, 0.010, "layer <1> & \"2\""}}},
                                  {"all_reduce", {{0.004, 0.009, "bucket 0"}}}};
    const std::string svg = drawn("a step", bands);
    CHECK(svg.rfind("<svg", 0) == 0);
    CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
    CHECK(count_of(svg, "<title>") == 3);
    CHECK(count_of(svg, "bucket 0: 4.000 to 9.000 ms") == 1);
    CHECK(count_of(svg, "layer &lt;1&gt; &amp; &quot;2&quot;") == 1);
    // 850 wide for 10 ms, from 130 on.
    CHECK(count_of(svg, R"(<rect x="470.00" y="50.00" width="510.00")") == 1);
    CHECK(count_of(svg, R"(<rect x="470.00" y="78.00" width="425.00")") == 1);
    CHECK(count_of(svg, "stroke=\"#ddd\"") == 11);  // a tick a millisecond
    CHECK(drawn("nothing", {}).find("</svg>") != std::string::npos);
}

TEST_CASE("JSON is what a reader takes: texts made safe, six digits, and null for what is no number") {
    circumstances where;
    where.device = "a \"b\"\\\n\xff";
    call_row row;
    row.bytes = 1048576;
    row.seconds = 0;
    row.cpu_seconds = 0.1 / 3;
    const std::string text = document(where, std::vector{row});
    for (const char* piece :
         {R"("device": "a \"b\"\\\n)", "\xef\xbf\xbd\",\n", R"("bytes": 1048576,)", R"("cpu_us": 33333.3,)", R"("ops_per_s": null,)"})
        CHECK_MESSAGE(count_of(text, piece) == 1, text);
    CHECK(count_of(document(where, std::vector<call_row>()), R"("rows": [])") == 1);
}

}  // namespace metrics_test
