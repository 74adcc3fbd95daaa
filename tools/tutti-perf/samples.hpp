// The measurements of one rank, and the statistics of all ranks' measurements. Knows nothing of collectives.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace perf {

/// How often to repeat: `batches` batches of `ops` operations back to back.
struct plan {
    int batches = 9;
    int ops = 1;
};

/// Enough to fill `seconds` with operations that take `op_seconds`; fewer batches, not fewer than three, when they take very long.
plan plan_for(double seconds, double op_seconds) noexcept;

/// Seconds on a clock that never jumps.
double now() noexcept;
/// Seconds of all cores that this process has used, in user code and in the kernel.
double cpu_now() noexcept;

/// A value that was measured: the least one which that part of them does not exceed. They are in order, and there is one.
double percentile(std::span<const double> sorted, double part) noexcept;

/// One rank's times. Used as: begin_batch, then end_op after each operation, then end_batch; and so on. The time between pause and resume,
/// before an operation, does not count.
class stopwatch {
public:
    explicit stopwatch(plan how);
    void begin_batch() noexcept;
    void pause() noexcept;
    void resume() noexcept;
    void end_op() noexcept;
    void end_batch() noexcept;

    /// Everything as numbers, as many on every rank of the same plan: what `summarize` takes.
    std::vector<double> numbers() const;
    static std::size_t numbers_count(plan how) noexcept { return static_cast<std::size_t>(how.batches) + 2; }

private:
    plan how_;
    double began_ = 0, last_ = 0, paused_ = 0, cpu_began_ = 0, cpu_paused_ = 0, cpu_ = 0;
    std::vector<double> batches_;  // seconds per operation
    std::vector<double> ops_;
};

/// Seconds of one operation. A batch counts as its slowest rank's time by the operation; these are over the batches.
struct summary {
    double least = 0;
    double median = 0;
    double p99 = 0;  // of single operations, on the rank where it is worst
    double cpu = 0;  // of one operation on one rank
};

/// From the numbers of all ranks, one after the other.
summary summarize(plan how, int ranks, std::span<const double> numbers);

}  // namespace perf
