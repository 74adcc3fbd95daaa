#include "samples.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace perf {
namespace {

constexpr int most_ops = 4000;  // in a batch
constexpr int usual_batches = 9;
constexpr double patience = 4;  // times the wanted duration, for operations that are slower than a batch should be

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double seconds_of(const timeval& time) noexcept { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

}  // namespace

plan plan_for(double seconds, double op_seconds) noexcept {
    plan made{usual_batches, static_cast<int>(std::clamp(seconds / usual_batches / op_seconds, 1.0, static_cast<double>(most_ops)))};
    if (op_seconds * usual_batches > patience * seconds) made.batches = std::max(3, static_cast<int>(patience * seconds / op_seconds));
    return made;
}

double now() noexcept { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_now() noexcept {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double percentile(std::span<const double> sorted, double part) noexcept {
    const auto place = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(place, 1, sorted.size()) - 1];
}

stopwatch::stopwatch(plan how) : how_(how) {
    batches_.reserve(static_cast<std::size_t>(how.batches));
    ops_.reserve(static_cast<std::size_t>(how.batches) * static_cast<std::size_t>(how.ops));
}

void stopwatch::begin_batch() noexcept {
    cpu_began_ = cpu_now();
    began_ = last_ = now();
}

void stopwatch::pause() noexcept {
    paused_ = now();
    cpu_paused_ = cpu_now();
}

void stopwatch::resume() noexcept {
    cpu_began_ += cpu_now() - cpu_paused_;
    last_ = now();
    began_ += last_ - paused_;
}

void stopwatch::end_op() noexcept {
    const double ended = now();
    ops_.push_back(ended - last_);
    last_ = ended;
}

void stopwatch::end_batch() noexcept {
    batches_.push_back((last_ - began_) / how_.ops);
    cpu_ += cpu_now() - cpu_began_;
}

std::vector<double> stopwatch::numbers() const {
    std::vector<double> all = batches_, sorted = ops_;
    std::sort(sorted.begin(), sorted.end());
    all.push_back(percentile(sorted, 0.99));
    all.push_back(cpu_ / static_cast<double>(ops_.size()));
    return all;
}

summary summarize(plan how, int ranks, std::span<const double> numbers) {
    const auto batches = static_cast<std::size_t>(how.batches);
    std::vector<double> slowest(batches);
    summary all;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
        const auto mine = numbers.subspan(rank * stopwatch::numbers_count(how));
        for (std::size_t batch = 0; batch < batches; ++batch) slowest[batch] = std::max(slowest[batch], mine[batch]);
        all.p99 = std::max(all.p99, mine[batches]);
        all.cpu += mine[batches + 1] / ranks;
    }
    all.least = *std::min_element(slowest.begin(), slowest.end());
    all.median = median(slowest);
    return all;
}

}  // namespace perf
