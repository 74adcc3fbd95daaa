#include "algorithm/tuning.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using enum collective;
using enum transport_kind;

TEST_CASE("a tuning is read for one transport, with comments and empty lines, and its text reads the same") {
    const std::string_view text =
        "# a machine; of two cores; tcp all_reduce 9: 0 ring\n"
        "shm all_reduce 4: 0 star, 65536 direct   # quick\n"
        "\n"
        "tcp all_reduce 4: 0 tree\r\n"
        "shm broadcast 3: 17 tree; shm all_reduce 2:0 ring,1 recursive_doubling";
    const std::vector<tuned> shared{{4, 0, find(all_reduce, "star")},
                                    {4, 65536, find(all_reduce, "direct")},
                                    {3, 17, find(broadcast, "tree")},
                                    {2, 0, find(all_reduce, "ring")},
                                    {2, 1, find(all_reduce, "recursive_doubling")}};
    CHECK(tuning_in(text, shm).value() == shared);
    CHECK(tuning_in(text, tcp).value() == std::vector<tuned>{{4, 0, find(all_reduce, "tree")}});
    CHECK(tuning_in("", shm).value().empty());
    CHECK(to_string(shared, shm) ==
          "shm all_reduce 4: 0 star, 65536 direct; shm broadcast 3: 17 tree; shm all_reduce 2: 0 ring, 1 recursive_doubling");
    CHECK(tuning_in(to_string(shared, shm), shm).value() == shared);
    const std::vector<tuned> back{{4, 8, find(all_reduce, "star")}, {4, 64, by_cost(all_reduce)}};
    CHECK(tuning_in("tcp all_reduce 4: 8 star, 64 auto", tcp).value() == back);
    CHECK(to_string(back, tcp) == "tcp all_reduce 4: 8 star, 64 auto");
    const std::vector<tuned> twice{{4, 8, find(all_reduce, "star")}, {4, 8, find(all_reduce, "ring")}};
    CHECK(tuning_in(to_string(twice, tcp), tcp).value() == twice);
}

TEST_CASE("a line that makes no sense is quoted, of whichever transport") {
    const struct {
        std::string_view line, why;
    } table[] = {
        {"all_reduce 4: 0 star", "a line begins with tcp or shm, a collective, a number of ranks and a colon"},
        {"udp all_reduce 4: 0 star", "a line begins with tcp or shm"},
        {"shm reduce_all 4: 0 star", "a line begins with tcp or shm"},
        {"shm all_reduce: 0 star", "a line begins with tcp or shm"},
        {"shm all_reduce 0: 0 star", "a line begins with tcp or shm"},
        {"shm all_reduce 4 5: 0 star", "a line begins with tcp or shm"},
        {": 0 star", "a line begins with tcp or shm"},
        {"shm all_reduce 4 0 star", "a line begins with tcp or shm"},
        {"shm all_reduce 4", "behind the colon stand bytes and algorithms"},
        {"shm all_reduce 4: 0 star,, 8 ring", "behind the colon stand bytes and algorithms"},
        {"shm all_reduce 4: 0 star 8 ring", "behind the colon stand bytes and algorithms"},
        {"shm all_reduce 4: -1 star", "behind the colon stand bytes and algorithms"},
        {"shm all_reduce 4: 64KiB star", "behind the colon stand bytes and algorithms"},
        {"shm all_reduce 4: 0 bruck", "all_reduce has no algorithm 'bruck'"},
        {"tcp all_reduce 3: 0 halving_once", "halving_once does not serve 3 ranks"},
        {"shm all_reduce 4: 0 star, 8 leaders", "leaders is for ranks on several hosts, and a tuning is for those of one"},
        {"tcp all_reduce 4: 0 parts", "parts is for ranks on several hosts"},
        {"shm all_reduce 4: 8 star, 8 ring", "bytes do not ascend"},
        {"shm all_reduce 4: 8 star, 4 ring", "bytes do not ascend"},
    };
    for (const auto& each : table) {
        CAPTURE(each.line);
        const auto read = tuning_in("shm all_reduce 2: 0 ring\n" + std::string(each.line) + "\nshm all_reduce 8: 0 ring", shm);
        REQUIRE_FALSE(read);
        CHECK(read.failure().code() == error::invalid_argument);
        CHECK(read.failure().details().cause.starts_with("tuning '" + std::string(each.line) + "': " + std::string(each.why)));
    }
}

TEST_CASE("a file that cannot be read says why") {
    CHECK(tuning_text("/dev/null").value().empty());
    CHECK(tuning_text("/nowhere/tuning").failure().details().cause == "/nowhere/tuning: No such file or directory");
    CHECK(tuning_text("/").failure().details().cause == "/: Is a directory");
}

TEST_CASE("a tuning is for groups of its size on one host") {
    const auto all = tuning_in("tcp all_reduce 4: 0 star, 64 ring; tcp all_reduce 2: 0 ring", tcp).value();
    const auto four = wanted_in(all, 4, {});
    REQUIRE(four.size() == 2);
    CHECK(four[1].from_bytes == 64);
    CHECK(four[1].choice == find(all_reduce, "ring"));
    CHECK(wanted_in(all, 3, {}).empty());
    const std::vector<int> two{0, 0, 1, 1};
    CHECK(wanted_in(all, 4, host_map(two)).empty());
}
