// Lists of buffers that are combined as one vector, by every algorithm.
#include "engine/table.hpp"
#include "support/scattered.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace tutti;
using test::scattered;

namespace {

std::string carry_out(test::table& table, const test::call& what, std::span<const std::size_t> counts) {
    const test::oracle truth(what, table.size(), what.count + 1);
    std::deque<scattered> parts;
    std::vector<future<>> ends;
    for (rank me = 0; me < table.size(); ++me) {
        parts.emplace_back(what.type, counts).fill(truth.input(me));
        request asked;
        asked.kind = what.kind;
        asked.type = what.type;
        asked.op = what.op;
        asked.count = what.count;
        // The engine copies the list when it is issued.
        const std::vector<buffer> list(parts.back().list().begin(), parts.back().list().end());
        asked.list = list;
        asked.digest = digest_of_list(list);
        ends.push_back(table[me].issue(asked));
    }
    table.settle();
    for (rank me = 0; me < table.size(); ++me) {
        auto& ended = ends[static_cast<std::size_t>(me)];
        if (!ended.ready()) return fmt::format("rank {} is still under way", me);
        if (const report why = test::why(ended); why.code) return to_string(why);
        if (!test::alike(what.type, parts[static_cast<std::size_t>(me)].joined(), truth.expected(me)))
            return fmt::format("rank {} has a wrong result", me);
    }
    return "right";
}

/// Types and operators in turn.
test::call next_call(std::size_t count, int turn) {
    const reduction op = test::all_ops[static_cast<std::size_t>(turn / 2) % std::size(test::all_ops)];
    return {collective::all_reduce, test::type_for(op, static_cast<std::size_t>(turn)), op, 0, count};
}

}  // namespace

TEST_CASE("every algorithm combines every list of buffers where they are") {
    int turn = 0;
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 4, 5, 7, 8})
            for (const std::size_t slice_bytes : {std::size_t{64}, 256 * KiB}) {
                if (entry.kind != collective::all_reduce || !serves(entry, size)) continue;
                CAPTURE(entry.name);
                CAPTURE(size);
                CAPTURE(slice_bytes);
                // Links that hold less than a frame in the one case, and everything in the other.
                test::table table(size, test::only(entry, slice_bytes), slice_bytes == 64 ? 100 : 256 * KiB);
                for (const auto& counts : test::awkward_lists()) {
                    CAPTURE(&counts - test::awkward_lists().data());
                    const test::call what = next_call(test::total(counts), turn += 3);
                    CAPTURE(name(what.type));
                    CAPTURE(name(what.op.kind()));
                    REQUIRE(carry_out(table, what, counts) == "right");
                }
            }
}

TEST_CASE("a slice may lie in more places than one call to the system takes") {
    for (const int size : {2, 5}) {
        CAPTURE(size);
        test::table table(size);
        const std::vector<std::size_t> counts(2'000, 131);
        CHECK(carry_out(table, {collective::all_reduce, data_type::f64, sum, 0, test::total(counts)}, counts) == "right");
        const std::vector<std::size_t> single(20'000, 1);
        CHECK(carry_out(table, {collective::all_reduce, data_type::f64, sum, 0, single.size()}, single) == "right");
    }
}

TEST_CASE("a list's digest tells number, order and sizes, and is never that of no list") {
    std::byte memory[64];
    const auto digest = [&](std::initializer_list<std::size_t> counts) {
        std::vector<buffer> list;
        for (const std::size_t count : counts) list.emplace_back(memory, count, data_type::i8);
        return digest_of_list(list);
    };
    const std::uint64_t all[] = {
        0, digest({}), digest({0}), digest({5}), digest({0, 5}), digest({5, 0}), digest({2, 3}), digest({3, 2}), digest({1, 4})};
    for (const auto& one : all)
        for (const auto& other : all) CHECK((one == other) == (&one == &other));
    CHECK(digest({2, 3}) == digest({2, 3}));
}
