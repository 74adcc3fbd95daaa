#include "tensors.hpp"

#include "sizes.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <sstream>

using namespace perf;
using counts = std::vector<std::uint64_t>;

namespace {

std::string complaint(const std::string& text) {
    std::istringstream lines(text);
    try {
        tensors_in(lines, "list");
    } catch (const bad_input& wrong) {
        return wrong.what();
    }
    return "";
}

}  // namespace

TEST_CASE("ResNet-50 has 161 tensors of 25,557,032 elements, the last layer first") {
    const counts all = resnet50();
    CHECK(all.size() == 161);
    CHECK(std::accumulate(all.begin(), all.end(), std::uint64_t{0}) == 25'557'032);
    CHECK(counts(all.begin(), all.begin() + 3) == counts{1000, 1000 * 2048, 2048});
    CHECK(counts(all.end() - 3, all.end()) == counts{64, 64, 3 * 64 * 7 * 7});
}

TEST_CASE("a file of element counts is read") {
    std::istringstream lines("# a network\n  12\n\n7 # bias\r\n1000000\n");
    CHECK(tensors_in(lines, "list") == counts{12, 7, 1'000'000});
}

TEST_CASE("a file that is no list is refused with its line") {
    CHECK(complaint("12\nseven\n") == "list, line 2: 'seven' is no element count");
    CHECK(complaint("12 13\n") == "list, line 1: '12 13' is no element count");
    CHECK(complaint("0\n") == "list, line 1: '0' is no element count");
    CHECK(complaint("-1\n") == "list, line 1: '-1' is no element count");
    CHECK(complaint("# nothing\n") == "list: no element counts in it");
    CHECK_THROWS_AS(tensors_of("/nonexistent/list"), bad_input);
    std::string many;
    for (int i = 0; i <= 100'000; ++i) many += "1\n";
    CHECK(complaint(many) == "list: more than 100000 tensors");
}

TEST_CASE("buckets hold neighbours up to their cap, and what is larger travels alone") {
    using sizes = std::vector<std::size_t>;
    CHECK(buckets_of({}, 10).empty());
    CHECK(buckets_of({1, 2, 3}, 10) == sizes{3});
    CHECK(buckets_of({5, 5, 1}, 10) == sizes{2, 1});
    CHECK(buckets_of({20, 1, 20, 3, 4}, 10) == sizes{1, 1, 1, 2});
}

TEST_CASE("ResNet-50 fits five buckets of 25 MiB") { CHECK(buckets_of(resnet50(), bucket_bytes / 4).size() == 5); }
