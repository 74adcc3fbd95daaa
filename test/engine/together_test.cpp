// Many small operations under way at once: how many calls to the system they take.
#include "engine/table.hpp"
#include "transport/road.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using test::asking;

TEST_CASE("operations that start together send in one call to each peer, and so do their answers") {
    constexpr std::size_t operations = 50;
    for (const int size : {2, 4}) {
        CAPTURE(size);
        test::table table(size);
        std::vector<test::counting_link*> links;
        table.over([&links](event_loop& loop, rank one, rank other, lane_id) {
            auto ends = make_memory_links({loop, fmt::format("rank {}", one)}, {loop, fmt::format("rank {}", other)}, 256 * KiB);
            const auto counted = [&links](std::unique_ptr<tutti::link> over) {
                links.push_back(new test::counting_link(std::move(over), ~std::size_t{0}));
                return std::unique_ptr<tutti::link>(links.back());
            };
            return test::table::two_ends(counted(std::move(ends.first)), counted(std::move(ends.second)));
        });
        std::vector<std::vector<float>> data(operations * static_cast<std::size_t>(size), std::vector<float>(3, 1));
        const auto round = [&] {
            std::vector<future<>> all;
            std::size_t next = 0;
            for (rank each = 0; each < size; ++each)
                for (std::size_t index = 0; index < operations; ++index)
                    all.push_back(table[each].issue(asking(collective::all_reduce, data[next++])));
            table.settle();
            for (auto& each : all) each.get();
        };
        round();  // makes the lanes
        for (auto* each : links) each->sends = 0;
        round();
        int calls = 0;
        for (const auto* each : links) calls += each->sends;
        // One operation alone, and the others: each rank once to each other one, or there and back.
        CHECK(calls <= 4 * static_cast<int>(links.size()));
        for (const auto& each : data) CHECK(each == std::vector<float>(3, static_cast<float>(size * size)));
    }
}
