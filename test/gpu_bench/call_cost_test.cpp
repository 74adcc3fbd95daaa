// Calls of NCCL through the library and directly, on a simulated device in virtual time: as many as were asked for, with right results.
#include "call_cost.hpp"

#include "device/ranks.hpp"

namespace call_cost_test {

using namespace tutti;
using namespace gpu_bench;

TEST_CASE("all callers reduce all sizes with both operators, as often as was asked for, and rightly") {
    test::device_stage stage(1);
    call_plan plan;
    plan.bytes = {4, 40000};
    plan.times = 20;
    plan.window = 4;
    std::vector<call_row> rows;
    stage.run([&](test::device_rank& here) -> task<> {
        return [](test::device_rank& rank, const gpu::nccl_table& nccl, const call_plan& asked, std::vector<call_row>& into) -> task<> {
            into = co_await measure_calls(rank.world, rank.all, rank.card, nccl, asked);
        }(here, stage.nccl.table, plan, rows);
    });
    REQUIRE(rows.size() == 3 * 2 * 2 * 2);
    CHECK(stage.machine.calls("ncclAllReduce") == rows.size() * (20 + 2));  // a tenth to warm up
    CHECK(stage.machine.calls("ncclRedOpCreatePreMulSum") == stage.machine.calls("ncclAllReduce") / 2);
    for (const call_row& row : rows) {
        CAPTURE(name(row.who));
        CAPTURE(name(row.op));
        CAPTURE(row.bytes);
        CAPTURE(row.window);
        CHECK(row.wrong == 0);
        if (row.who == caller::library) CHECK(row.seconds > 0);  // direct calls block the loop whose clock this is
    }
}

TEST_CASE("several operations of the library on the stream take no longer than one after the other") {
    test::device_stage stage(1);
    call_plan plan;
    plan.bytes = {4};
    plan.times = 50;
    std::vector<call_row> rows;
    stage.run([&](test::device_rank& here) -> task<> {
        return [](test::device_rank& rank, const gpu::nccl_table& nccl, const call_plan& asked, std::vector<call_row>& into) -> task<> {
            into = co_await measure_calls(rank.world, rank.all, rank.card, nccl, asked);
        }(here, stage.nccl.table, plan, rows);
    });
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        if (rows[i].who != caller::library) continue;
        CHECK(rows[i].window == 1);
        CHECK(rows[i + 1].window == plan.window);
        CHECK(rows[i + 1].seconds <= rows[i].seconds);
    }
}

}  // namespace call_cost_test
