#include "digits/report.hpp"

#include "digits/plot.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace digits;

namespace {

epoch_report epoch(int number, double loss, std::optional<double> hidden) {
    epoch_report what;
    what.epoch = number;
    what.loss = loss;
    what.accuracy = 0.9375;
    what.samples_per_second = 12345.6;
    what.hidden = hidden;
    return what;
}

run_report run(int ranks) {
    run_report what;
    what.ranks = ranks;
    what.batch = 64;
    what.rate = 0.05;
    what.seed = 1;
    what.data = "digits.csv";
    what.seconds = 1.5;
    what.identical = true;
    return what;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a progress line shows loss, accuracy, speed and hidden communication") {
    CHECK(progress_line(epoch(3, 0.125, 0.734), 25) ==
          "epoch  3/25  loss  0.12500  accuracy  93.75 %    12346 samples/s   73 % of communication hidden");
    CHECK(progress_line(epoch(3, 0.125, std::nullopt), 5) ==
          "epoch 3/5  loss  0.12500  accuracy  93.75 %    12346 samples/s  no communication");
}

TEST_CASE("the summary says whether the ranks agree, when there are several") {
    run_report what = run(4);
    what.epochs = {epoch(1, 1, 0.5)};
    CHECK(summary(what) == "test accuracy 93.75 % after 1 epoch in 1.50 s on 4 ranks, parameters bit-identical on all ranks");
    what.identical = false;
    CHECK(summary(what) == "test accuracy 93.75 % after 1 epoch in 1.50 s on 4 ranks, PARAMETERS DIFFER BETWEEN RANKS");
    what.ranks = 1;
    CHECK(summary(what) == "test accuracy 93.75 % after 1 epoch in 1.50 s on 1 rank");
}

TEST_CASE("the JSON holds the run exactly, and null where there is no number") {
    run_report what = run(2);
    what.epochs = {epoch(1, 1.0 / 3, 0.5), epoch(2, std::nan(""), std::nullopt)};
    CHECK(to_json(what) == R"({
  "ranks": 2,
  "batch": 64,
  "rate": 0.05,
  "seed": 1,
  "data": "digits.csv",
  "epochs": [
    {
      "epoch": 1,
      "loss": 0.3333333333333333,
      "accuracy": 0.9375,
      "samples_per_second": 12345.6,
      "hidden": 0.5
    },
    {
      "epoch": 2,
      "loss": null,
      "accuracy": 0.9375,
      "samples_per_second": 12345.6,
      "hidden": null
    }
  ],
  "seconds": 1.5,
  "identical": true
}
)");
}

TEST_CASE("a file name with any bytes becomes a valid JSON string") {
    const struct {
        std::string name;
        std::string quoted;
    } cases[] = {
        {"a\"b\\c", R"("a\"b\\c")"},
        {"a\nb\x01", R"("a\nb\u0001")"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\""},
        {"a\xc3", "\"a\xef\xbf\xbd\""},
        {"\xff.csv", "\"\xef\xbf\xbd.csv\""},
    };
    for (const auto& each : cases) {
        run_report what = run(1);
        what.data = each.name;
        CHECK(to_json(what).find("\"data\": " + each.quoted + ",") != std::string::npos);
    }
}

TEST_CASE("the plot has a point per epoch and curve, labels and a legend") {
    run_report what = run(4);
    for (int i = 1; i <= 12; ++i) what.epochs.push_back(epoch(i, 1.0 / i, 0.5));
    const std::string svg = to_svg(what);
    CHECK(occurrences(svg, "<circle") == 3 * 12);
    CHECK(occurrences(svg, "class='curve'") == 3);
    for (const char* label : {">training loss<", ">training loss (log scale)<", ">test accuracy<", ">communication hidden<", ">epoch<",
                              ">digits: 4 ranks, batch 64, rate 0.05, seed 1<", ">100 %<", ">0.5<"})
        CHECK_MESSAGE(svg.find(label) != svg.npos, label);
    // Loss 1 lies on the mark of 1, and the higher of two losses lies higher: y grows downwards.
    CHECK(svg.find("d='M80.0 70.0L") != svg.npos);
}

TEST_CASE("the plot leaves out what is no number, and stands for any number of epochs") {
    run_report what = run(1);
    for (const double loss : {0.5, std::nan(""), 0.0, HUGE_VAL, 0.25})
        what.epochs.push_back(epoch(static_cast<int>(what.epochs.size()) + 1, loss, std::nullopt));
    const std::string gaps = to_svg(what);
    CHECK(occurrences(gaps, "<circle") == 2 + 5);
    CHECK(gaps.find("no communication") != gaps.npos);
    const std::size_t loss = gaps.find("class='curve'");
    const std::string path = gaps.substr(loss, gaps.find("/>", loss) - loss);
    CHECK(occurrences(path, "M") == 2);  // two points with a gap between them, not a line over it
    CHECK(occurrences(path, "L") == 0);
    for (const int epochs : {1, 2, 1000}) {
        what.epochs.clear();
        for (int i = 1; i <= epochs; ++i) what.epochs.push_back(epoch(i, 1e-3, std::nullopt));
        const std::string svg = to_svg(what);
        CHECK(svg.find("nan") == svg.npos);
        CHECK(svg.find("inf") == svg.npos);
    }
}
