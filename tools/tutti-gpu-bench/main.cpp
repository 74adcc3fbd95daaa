// tutti-gpu-bench: what the library's ways with GPUs cost, and what they hide.
#include "../standard_output.hpp"
#include "device_trainer.hpp"
#include "host_trainer.hpp"
#include "options.hpp"
#include "report.hpp"

#include "gpu/libraries.hpp"

#include <tutti/context.hpp>
#include <tutti/gpu.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace {

using namespace gpu_bench;
using namespace tutti;

int complain(const std::string& text, int code) {
    std::fputs(fmt::format("tutti-gpu-bench: {}\n", text).c_str(), stderr);
    return code;
}

bool write(const std::string& file, const std::string& text) { return file.empty() || (std::ofstream(file) << text << std::flush).good(); }

/// A device, with what it is to do; or why there is none.
struct equipment {
    result<gpu::device> card;
    std::optional<workload> work;
    std::optional<failure> why_not;

    equipment(int ordinal, unsigned matrix, gpu::device_options options = {}) : card(gpu::device::open(ordinal, options)) {
        if (!card) {
            why_not = card.failure();
            return;
        }
        try {
            work.emplace(*card, busy_image(), matrix);
        } catch (const failure& why) {
            why_not = why;
        }
    }
    /// For a rank without a device.
    explicit equipment(failure none) : card(std::move(none)) {}
};

/// Longer ones are measured less often, so that each takes some seconds at most.
int samples_of(const options& given, double length_us) { return std::min(given.samples, std::max(20, static_cast<int>(5e6 / length_us))); }

// ---- latency

latency_row measured(const options& given, const workload& work, witness& seen, const written_flag* flag, double length_us) {
    event_loop loop;
    const auto length = std::chrono::duration_cast<duration>(std::chrono::duration<double, std::micro>(length_us));
    const int times = samples_of(given, length_us);
    latency_row row = run(loop, measure_latency(work, seen, length, times, flag));
    row.launches = run(loop, measure_launches(work, seen, length, times, flag));
    row.launches_alone = run(loop, measure_launches_alone(work, seen, length, times));
    return row;
}

/// By a flag, where the driver writes one.
void measure_by_flag(const options& given, const workload& work, witness& seen, std::vector<latency_row>& rows) {
    try {
        const written_flag flag(work.where());
        for (const double length : given.lengths_us) rows.push_back(measured(given, work, seen, &flag, length));
    } catch (const failure& why) {
        if (work.where().fault()) throw;
        rows.emplace_back().why_not = why.what();
    }
}

int measure_latencies(const options& given) {
    std::vector<latency_row> rows;
    std::optional<circumstances> where;
    for (const way mode : given.modes) {
        gpu::device_options how;
        if (mode) how.polling = *mode;
        equipment has(given.device, 16, how);
        if (has.why_not) return complain(has.why_not->what(), no_device);
        if (!where) {
            where = circumstances_of(&*has.card, "", 1);
            print_now(line_of(*where));
        }
        spinning_witness seen(*has.card);
        if (mode == by_flag) measure_by_flag(given, *has.work, seen, rows);
        else
            for (const double length : given.lengths_us) rows.push_back(measured(given, *has.work, seen, nullptr, length));
    }
    print_now(table_of(rows));
    return write(given.json, document(*where, rows)) ? 0 : complain("cannot write to " + given.json, usage_error);
}

// ---- overlap

/// How many ranks lack the device that they should have; they have said why.
task<int> lacking(communicator& world, const equipment& has) {
    int missing = has.why_not ? 1 : 0;
    if (missing) complain(fmt::format("rank {}: {}", world.rank(), has.why_not->what()), no_device);
    co_await world.all_reduce(std::span(&missing, 1), tutti::sum);
    co_return missing;
}

task<std::vector<overlap_row>> overlap_rows(communicator& world, gpu::communicator& all, const equipment& has, const options& given) {
    int on_devices = has.work ? 1 : 0;
    co_await world.all_reduce(std::span(&on_devices, 1), tutti::sum);
    std::vector<overlap_row> rows;
    for (const std::uint64_t bytes : given.buckets) {
        overlap_plan plan;
        plan.training = {given.layers, bytes / sizeof(float), std::min<std::size_t>(given.chunk_bytes, bytes) / sizeof(float),
                         given.window};
        plan.steps = given.steps;
        plan.balanced = given.launches == 0;
        if (has.work) {
            device_trainer mine(world, all, *has.work, plan.training, std::max(1, given.launches));
            rows.push_back(co_await measure_overlap(world, mine, on_devices, plan));
        } else {
            host_trainer mine(world, all, plan.training);
            rows.push_back(co_await measure_overlap(world, mine, on_devices, plan));
        }
    }
    co_return rows;
}

int tell(const options& given, const circumstances& where, const std::vector<overlap_row>& rows) {
    print_now(line_of(where) + table_of(rows));
    if (!write(given.json, document(where, rows))) return complain("cannot write to " + given.json, usage_error);
    if (!write(given.svg, timeline_of(rows.back(), where.engine))) return complain("cannot write to " + given.svg, usage_error);
    for (const overlap_row& row : rows)
        if (row.wrong > 0) return complain(fmt::format("{} elements are not the sum", row.wrong), failed);
    return 0;
}

task<int> overlap_main(communicator& world, const options& given, std::optional<gpu::device>& card) {
    if (world.size() == 1) co_return complain("overlap wants two ranks or more: tutti-run -n 2 -- tutti-gpu-bench overlap", usage_error);
    const int ordinal = given.device + (given.everywhere ? std::max(0, world_from_environment().value().local_rank) : 0);
    gpu::device_options polled;
    polled.polling = given.polling;
    equipment has = given.everywhere || world.rank() == 0
                        ? equipment(ordinal, given.matrix, polled)
                        : equipment(failure(error::unsupported, "it takes part with memory of the host, as it was told to"));
    if (co_await lacking(world, has) > 0) co_return no_device;
    if (has.card) card = *has.card;
    gpu::group_options how;
    how.chunk_bytes = given.chunk_bytes;
    how.window = given.window;
    auto joining = world.device(has.card, how);
    const auto all = co_await std::move(joining);
    const auto rows = co_await overlap_rows(world, *all, has, given);
    const int code = world.rank() == 0 ? tell(given, circumstances_of(&*has.card, all->engine(), world.size()), rows) : 0;
    co_await all->close();
    co_return code;
}

// ---- nccl

/// NCCL reads these once, when it makes its first communicator.
void pretend_hosts(int me) {
    ::setenv("NCCL_HOSTID", fmt::format("tutti-gpu-bench-{}", me).c_str(), 1);
    ::setenv("NCCL_MNNVL_ENABLE", "0", 1);
    ::setenv("NCCL_RAS_ENABLE", "0", 1);
}

task<int> nccl_main(communicator& world, const options& given, std::optional<gpu::device>& kept) {
    const int ordinal = given.device + (given.share_device ? 0 : std::max(0, world_from_environment().value().local_rank));
    auto card = gpu::device::open(ordinal);
    const auto& nccl = gpu::nccl();
    int missing = card && nccl ? 0 : 1;
    if (missing) complain(fmt::format("rank {}: {}", world.rank(), card ? nccl.why_not->what() : card.failure().what()), no_device);
    co_await world.all_reduce(std::span(&missing, 1), tutti::sum);
    if (missing > 0) co_return no_device;
    kept = *card;
    auto joining = world.device(card);
    const auto all = co_await std::move(joining);
    const auto rows = co_await measure_calls(world, *all, *card, nccl.table, given.calls);
    std::uint64_t wrong = 0;
    for (const call_row& row : rows) wrong += row.wrong;
    co_await world.all_reduce(std::span(&wrong, 1), tutti::sum);
    int code = 0;
    if (world.rank() == 0) {
        const circumstances where = circumstances_of(&*card, all->engine(), world.size());
        print_now(line_of(where) + table_of(rows));
        if (!write(given.json, document(where, rows))) code = complain("cannot write to " + given.json, usage_error);
        if (wrong > 0) code = complain(fmt::format("{} elements are wrong", wrong), failed);
    }
    co_await all->close();
    co_return code;
}

int measure_as_told(int argc, char** argv) {
    auto who = world_from_environment();
    const bool speaks = !who || who->me == 0;
    const auto parsed = parse(argc, argv, speaks);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const options& given = std::get<options>(parsed);
    for (const std::string& file : {given.json, given.svg})
        if (speaks && !file.empty() && !std::ofstream(file, std::ios::app)) return complain("cannot write to " + file, usage_error);
    try {
        if (given.part == part::latency) return measure_latencies(given);
        if (!who) return complain(who.failure().what(), usage_error);
        if (given.share_device) pretend_hosts(who->me);
        std::optional<gpu::device> card;  // let go of when nothing uses it any more, and no loop waits
        const std::function<task<int>(communicator&)> main = [&](communicator& world) {
            return given.part == part::overlap ? overlap_main(world, given, card) : nccl_main(world, given, card);
        };
        return run(main);
    } catch (const failure& why) {
        return complain(why.what(), failed);
    }
}

}  // namespace

int main(int argc, char** argv) {
    return with_output("tutti-gpu-bench", [&] { return measure_as_told(argc, argv); });
}
