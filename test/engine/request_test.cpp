#include "engine/request.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>

using namespace tutti;

TEST_CASE("a call repeats another only with the same of everything, on the same memory, and never with what is borrowed") {
    static constexpr std::array<std::size_t, 2> counts{3, 4};
    static const custom_op<float> latest("latest", commutes::no, [](float, float b) { return b; });
    std::array<float, 7> first{}, second{};
    const buffer list[] = {{first.data(), 7, data_type::f32}};
    request before;
    before.kind = collective::all_reduce;
    before.count = 7;
    before.input = first.data();
    before.output = first.data();

    request again = before;
    again.deadline = std::chrono::seconds(3);
    again.label = "gradients";
    CHECK(repeats(before, again));

    struct row {
        const char* what;
        std::function<void(request&)> change;
    };
    for (const row& other :
         {row{"kind", [](request& made) { made.kind = collective::scan; }}, row{"type", [](request& made) { made.type = data_type::i32; }},
          row{"element", [](request& made) { made.opaque_bytes = 12; }}, row{"operator", [](request& made) { made.op = reduce_op::max; }},
          row{"factor", [](request& made) { made.op = premul_sum(0.5); }}, row{"own operator", [](request& made) { made.op = latest; }},
          row{"root", [](request& made) { made.root = 1; }}, row{"count", [](request& made) { made.count = 6; }},
          row{"memory", [](request& made) { made.allocated = true; }}, row{"input", [&](request& made) { made.input = second.data(); }},
          row{"output", [&](request& made) { made.output = second.data(); }}, row{"list", [&](request& made) { made.list = list; }},
          row{"counts", [](request& made) { made.counts = counts; }},
          row{"recv counts", [](request& made) { made.recv_counts = counts; }},
          row{"input list", [&](request& made) { made.input_list = list; }},
          row{"counts of the root", [](request& made) { made.root_counts = true; }}}) {
        CAPTURE(other.what);
        request made = before;
        other.change(made);
        CHECK_FALSE(repeats(before, made));
        CHECK_FALSE(repeats(made, before));
    }
    before.counts = counts;
    CHECK_FALSE(repeats(before, before));
}
