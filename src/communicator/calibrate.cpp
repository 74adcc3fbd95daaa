#include "communicator/calibrate.hpp"

#include "group/context_state.hpp"

#include "algorithm/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace tutti::detail {
namespace {

constexpr double budget = 8e-3;  // seconds for each of the three collectives
constexpr std::size_t first_bytes = 64 * KiB, most_bytes = MiB;
constexpr int batches = 3, most_repeats = 100;  // the fastest batch counts: other programs only make one slower

/// Numbers of a cost_model that are scaled together, because one measurement cannot tell them apart.
using fields = std::span<double cost_model::*const>;
constexpr double cost_model::*latencies[] = {&cost_model::round, &cost_model::message};
constexpr double cost_model::*waiting[] = {&cost_model::round};
constexpr double cost_model::*moving[] = {&cost_model::moved_byte};
constexpr double cost_model::*far_latencies[] = {&cost_model::far_round};
constexpr double cost_model::*far_moving[] = {&cost_model::far_byte};
constexpr double cost_model::*reducing[] = {&cost_model::reduced_byte};
constexpr double cost_model::*every_field[] = {&cost_model::round,        &cost_model::message,   &cost_model::moved_byte,
                                               &cost_model::reduced_byte, &cost_model::far_round, &cost_model::far_byte,
                                               &cost_model::cores};
static_assert(sizeof(cost_model) == std::size(every_field) * sizeof(double));

cost_model scaled(cost_model costs, fields which, double factor) noexcept {
    for (const auto each : which) costs.*each *= factor;
    return costs;
}

/// Returns `costs` with these fields scaled so that the estimate is `seconds`, as far as they can achieve that.
cost_model fitted(cost_model costs, fields which, const algorithm& entry, const engine& on, double bytes, double seconds) {
    const auto estimated = [&](double factor) {
        return estimate(entry, on.who().size, scaled(costs, which, factor), on.who().hosts).seconds(bytes);
    };
    // A slower machine is taken to wait longer in a round; a faster one has faster system calls, too.
    if (which.data() == latencies && seconds > estimated(1)) return fitted(costs, waiting, entry, on, bytes, seconds);
    double low = 1e-3, high = 1e6;
    if (estimated(low) == estimated(high)) return costs;  // alone, or free in this model
    for (int pass = 0; pass < 12; ++pass) {               // to less than a hundredth
        const double middle = std::sqrt(low * high);
        (estimated(middle) < seconds ? low : high) = middle;
    }
    return scaled(costs, which, std::sqrt(low * high));
}

class calibration {
public:
    calibration(communicator& world, group& inside)
        : world_(world),
          inside_(inside),
          loop_(inside.context().loop()),
          found_(inside.engine().settings().costs) {
        data_.resize(most_bytes / sizeof(float) / static_cast<std::size_t>(world.size()) * static_cast<std::size_t>(world.size()));
    }

    task<cost_model> measure() {
        const bool far = inside_.engine().who().hosts.count() > 1;
        co_await fit(collective::barrier, 0, far ? fields(far_latencies) : fields(latencies));
        const std::size_t bytes = co_await affordable();
        co_await fit(collective::all_gather, bytes, far ? fields(far_moving) : fields(moving));
        co_await fit(collective::all_reduce, bytes, reducing);
        std::array<double, std::size(every_field)> numbers;
        for (std::size_t each = 0; each < numbers.size(); ++each) numbers[each] = found_.*every_field[each];
        co_await world_.broadcast(numbers, 0);
        for (std::size_t each = 0; each < numbers.size(); ++each) found_.*every_field[each] = numbers[each];
        co_return found_;
    }

private:
    double now() const { return std::chrono::duration<double>(loop_.now().time_since_epoch()).count(); }

    future<> start(collective kind, std::size_t bytes) {
        if (kind == collective::barrier) return world_.barrier();
        const auto size = static_cast<std::size_t>(world_.size()), each = bytes / sizeof(float) / size;
        const auto all = std::span(data_).first(each * size);
        if (kind == collective::all_reduce) return world_.all_reduce(all, sum);
        return world_.all_gather(std::span<const float>(all).subspan(each * static_cast<std::size_t>(world_.rank()), each), all);
    }

    /// Returns the seconds of one of `count` calls, made one after the other.
    task<double> repeat(collective kind, std::size_t bytes, int count) {
        const double began = now();
        for (int i = 0; i < count; ++i) co_await start(kind, bytes);
        co_return (now() - began) / count;
    }

    /// Returns rank 0's number on all ranks, which must make the same calls.
    task<std::int64_t> agree(std::int64_t mine) {
        std::array<std::int64_t, 1> number{mine};
        co_await world_.broadcast(number, 0);
        co_return number[0];
    }

    /// Returns the bytes of a vector that fits the budget, so that a slow network is not kept busy for long.
    task<std::size_t> affordable() {
        co_await start(collective::all_gather, first_bytes);
        const double seconds = co_await repeat(collective::all_gather, first_bytes, 1);
        const double fits = static_cast<double>(first_bytes) * std::max(1.0, budget / batches / 2 / std::max(seconds, 1e-9));
        const auto bytes = static_cast<std::int64_t>(std::min(fits, static_cast<double>(most_bytes)));
        co_return static_cast<std::size_t>(co_await agree(bytes));
    }

    /// Times a collective and fits the fields to its fastest batch, on rank 0.
    task<> fit(collective kind, std::size_t bytes, fields which) {
        co_await start(kind, bytes);  // opens lanes
        double least = co_await repeat(kind, bytes, 1);
        const auto repeats = static_cast<std::int64_t>(std::clamp(budget / batches / std::max(least, 1e-9), 1.0, double{most_repeats}));
        const auto agreed = static_cast<int>(co_await agree(repeats));
        for (int batch = 0; batch < batches; ++batch) {
            const double next = co_await repeat(kind, bytes, agreed);
            least = std::min(least, next);
        }
        if (world_.rank() != 0) co_return;
        engine& on = inside_.engine();
        found_ = fitted(found_, which, on.chosen(kind, bytes), on, static_cast<double>(bytes), least);
    }

    communicator& world_;
    group& inside_;
    event_loop& loop_;
    cost_model found_;
    std::vector<float> data_;
};

}  // namespace

task<cost_model> calibrate(communicator& world, group& inside) {
    calibration all(world, inside);
    auto measuring = all.measure();
    co_return co_await std::move(measuring);
}

}  // namespace tutti::detail
