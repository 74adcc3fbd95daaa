#include "steps.hpp"

#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gpu_bench {
namespace {

using namespace tutti;

std::size_t place(variant how) noexcept { return static_cast<std::size_t>(how); }

struct measurement {
    communicator& world;
    trainer& mine;
    const int ranks_on_devices;
    const overlap_plan& plan;
    int number = 0;  // of the step
    std::array<std::vector<double>, variants.size()> seconds{};
    std::vector<double> computed{};  // of overlapped steps
    std::size_t wrong = 0;           // on this rank
};

task<double> one_step(measurement& all, variant how) {
    co_await all.world.barrier();
    const step_record seen = co_await all.mine.step(how, ++all.number);
    if (how == variant::overlapped) all.computed.push_back(seen.computed);
    co_return seen.seconds;
}

/// The second of two steps of communication says how long layers shall compute.
task<> balance(measurement& all) {
    co_await one_step(all, variant::communication);
    const double seconds = co_await one_step(all, variant::communication);
    co_await all.mine.balance(seconds);
}

task<> all_steps(measurement& all) {
    for (int turn = -1; turn < all.plan.steps; ++turn)
        for (const variant how : all.plan.measured) {
            const double seconds = co_await one_step(all, how);
            if (turn < 0) continue;
            all.seconds[place(how)].push_back(seconds);
            if (turn == all.plan.steps - 1 && is_whole(how)) all.wrong += co_await all.mine.wrong(all.number, all.ranks_on_devices);
        }
}

double median(std::vector<double> values) { return percentiles_of(std::move(values)).p50; }

void conclude(overlap_row& row, const measurement& all) {
    for (const variant how : variants) row.seconds[place(how)] = percentiles_of(all.seconds[place(how)]);
    for (const variant how : variants) {
        if (!is_whole(how)) continue;
        step_times times;
        times.computing = row.of(variant::computing).p50;
        times.communication = row.of(variant::communication).p50;
        times.both = row.of(how).p50;
        times.layers = all.plan.training.layers;
        times.computing_meanwhile = how == variant::overlapped ? median(all.computed) : 0;
        row.figures[place(how)] = figures_of(times);
    }
    row.hidden = common_to(row.trace.layers, row.trace.buckets) / length_of(row.trace.buckets);
}

}  // namespace

task<overlap_row> measure_overlap(communicator& world, trainer& mine, int ranks_on_devices, const overlap_plan& plan) {
    measurement all{world, mine, ranks_on_devices, plan};
    if (plan.balanced) co_await balance(all);
    co_await all_steps(all);
    co_await world.barrier();
    overlap_row row;
    row.training = plan.training;
    row.trace = co_await mine.traced_step(++all.number);
    all.wrong += co_await mine.wrong(all.number, ranks_on_devices);
    row.launches = mine.launches();
    std::uint64_t wrong = all.wrong;
    co_await world.all_reduce(std::span(&wrong, 1), tutti::sum);
    row.wrong = wrong;
    conclude(row, all);
    co_return row;
}

std::string timeline_of(const overlap_row& row, const std::string& engine) {
    const std::string title =
        fmt::format("{} layers, buckets of {:.3g} MB: {:.2f} ms; {:.0f}% of the communication behind computing; {}", row.training.layers,
                    static_cast<double>(row.training.bucket_count * sizeof(float)) * 1e-6, row.trace.seconds * 1e3, row.hidden * 100,
                    engine.substr(0, engine.find(':')));  // without its reason
    return drawn(title, {{"computing", row.trace.layers}, {"all_reduce", row.trace.buckets}});
}

}  // namespace gpu_bench
