#include "reducer/agreement.hpp"
#include "support/ranks.hpp"

#include <doctest/doctest.h>

namespace agreement_test {

using namespace tutti;
using test::run_ranks;

namespace {

using lines = std::vector<std::string>;

task<> compare(communicator& world, lines mine, std::vector<std::string>& told) {
    agreement all(world, std::move(mine));
    co_await all.compare();
    std::string text = "agreed";
    if (!all.reached()) {
        auto finding = all.difference();
        text = co_await std::move(finding);
    }
    told[static_cast<std::size_t>(world.rank())] = text;
}

/// Returns what every rank says when `odd` holds other lines than the others.
std::vector<std::string> told_by(int size, rank odd, const lines& usual, const lines& different) {
    std::vector<std::string> told(static_cast<std::size_t>(size));
    run_ranks(size, [&](communicator& world) { return compare(world, world.rank() == odd ? different : usual, told); });
    return told;
}

void check_all(const std::vector<std::string>& told, const std::string& expected) {
    for (const std::string& each : told) CHECK(each == expected);
}

}  // namespace

TEST_CASE("equal lists agree") {
    for (int size : {1, 2, 3, 4}) {
        check_all(told_by(size, 0, {"a", "b"}, {"a", "b"}), "agreed");
        check_all(told_by(size, 0, {}, {}), "agreed");
    }
}

TEST_CASE("the first line that differs is told by all ranks, as it is here and there") {
    check_all(told_by(3, 2, {"a", "b", "c"}, {"a", "x", "y"}), "rank 0 has b, rank 2 has x");
    check_all(told_by(3, 0, {"a", "b", "c"}, {"a", "x", "y"}), "rank 0 has x, rank 1 has b");
    check_all(told_by(2, 1, {"a", "b"}, {"b", "a"}), "rank 0 has a, rank 1 has b");
}

TEST_CASE("a list that is longer differs behind the end of the other") {
    check_all(told_by(4, 3, {"a", "b"}, {"a", "b", "c"}), "rank 0 has nothing behind 'b', rank 3 has c");
    check_all(told_by(4, 1, {"a", "b"}, {"a"}), "rank 0 has b, rank 1 has nothing behind 'a'");
}

TEST_CASE("how a list is cut into lines matters") { check_all(told_by(2, 1, {"ab", "c"}, {"a", "bc"}), "rank 0 has ab, rank 1 has a"); }

TEST_CASE("lines that differ behind the part that is told are still found") {
    const std::string start(1000, 'z');
    const auto told = told_by(2, 1, {start + "1"}, {start + "2"});
    CHECK(told[0] == told[1]);
    CHECK(told[0].starts_with("rank 0 has zzz"));
    CHECK(told[0].ends_with("zzz and other letters further on"));
}

}  // namespace agreement_test
