// Gradients in, averaged gradients out: the reducer packs parameters into buckets, and sends a bucket on its way while the backward
// pass still computes the next.
#pragma once

#include <tutti/communicator.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {

/// What the reducer knows of a parameter. A gradient without memory gets its memory from the reducer; see reducer::gradient.
struct parameter {
    std::string name;
    buffer gradient;

    parameter(std::string called, buffer at) : name(std::move(called)), gradient(at) {}
    template <detail::offered Range>
    parameter(std::string called, Range&& at) : name(std::move(called)), gradient(detail::writing<Range>(at)) {}
    /// One whose gradient lives in the reducer's memory.
    parameter(std::string called, std::size_t count, data_type type) : name(std::move(called)), gradient(nullptr, count, type) {}
};

/// Parameters of one type that travel together.
struct bucket {
    data_type type = data_type::f32;
    std::size_t count = 0;                // elements
    std::vector<std::size_t> parameters;  // in the order of the memory

    std::size_t bytes() const noexcept { return count * size_of(type); }
};

/// The same on all ranks, except for `live` and `deadline`.
struct reducer_options {
    std::size_t first_bucket = 1 * MiB;      // bytes of each type's first bucket, which leaves early because it is small
    std::size_t bucket = 25 * MiB;           // and of its others
    std::span<const std::size_t> caps = {};  // instead of both: bytes one by one, the last for all the rest; read by the constructor
    std::size_t live = 64;                   // buckets under way at the same time
    reduce_op op = avg;                      // or sum
    duration deadline{};                     // of a bucket; 0: the communicator's default
};

/// How well communication hid behind computation.
struct overlap {
    std::uint64_t steps = 0;
    std::uint64_t bytes = 0;  // of gradients
    duration busy{};          // at least one bucket was under way
    duration exposed{};       // finish() waited

    /// 1: all communication was hidden; 0: none.
    double ratio() const noexcept;
};
struct reducer_stats {
    overlap last;   // step
    overlap total;
};

/// Averages the gradients of all ranks, step by step:
///
///     tutti::reducer gradients{world, parameters, {.bucket = 25 * tutti::MiB}};
///     for (...) {
///         net.backward(batch, [&](std::size_t parameter) { gradients.ready(parameter); });
///         co_await gradients.finish();
///         net.step();
///     }
///
/// Buckets hold parameters in reverse order of registration, since that is the order in which a backward pass finishes them. A parameter
/// larger than a bucket's cap travels alone. Buckets leave in one order on all ranks, whatever becomes ready first. The ranks compare
/// their parameters and buckets before the first gradient leaves; where they differ, the first finish() throws error::mismatch on all of
/// them, naming the first difference.
///
/// Memory. A parameter registered with memory is copied to its bucket by ready(), and its average is copied back by finish() once the
/// whole step has succeeded; until then it is untouched. One registered without memory lives in the bucket and is never copied; after a
/// failure its content is indeterminate. The reducer's memory begins as zeros.
///
/// Order. From the first ready() of a step to the end of its finish(), and until the first agree() or finish() has ended, the
/// communicator is the reducer's: other collectives go over another one (communicator::split).
///
/// Failure. A mistake with the marks (a parameter marked twice, or missing at finish()) fails the communicator, because other ranks
/// wait for its buckets; here finish() of the same step throws error::invalid_argument naming the parameters, and on the other ranks the
/// failure tells rank and parameters. After any failure the reducer stays failed.
///
/// Threads. ready() and mark_unused() may be called from any one thread at a time. Everything else belongs to the thread that awaits
/// finish(), and happens before or after those calls: a new step begins when the earlier finish() has ended.
class reducer {
public:
    static constexpr std::size_t parameter_limit = 1 << 20;
    static constexpr std::size_t least_cap = 1 * KiB;  // so that 25 is not taken for 25 MiB

    /// Waits for nothing; the comparison of the ranks' plans is issued here, so all ranks construct their reducers in the same order.
    /// `over` outlives all other calls. Throws error::invalid_argument for options or parameters that cannot be right, error::unsupported for a type
    /// that has no average (or sum).
    reducer(communicator& over, std::vector<parameter> parameters, reducer_options options = {});
    reducer(const reducer&) = delete;
    reducer& operator=(const reducer&) = delete;
    /// Does not block. In the middle of a step, from the first mark of its last pass on, the other ranks wait for it: then it fails the
    /// communicator with error::aborted, unless that has failed, or the ranks have disagreed. The comparison of the ranks' plans goes on
    /// without it.
    ~reducer();

    /// The parameter's gradient is complete, and stays untouched until finish() has ended. When that fills a bucket whose turn it is, the
    /// bucket leaves. Never blocks on a peer and never throws because of one.
    void ready(std::size_t parameter);
    /// This pass made no gradient for the parameter: it counts as zero.
    void mark_unused(std::size_t parameter);
    /// Ends the step, after the last ready(): waits for all buckets and puts the averages where the gradients are.
    task<> finish();

    /// From the next step on, a step consists of so many backward passes with finish() after each. Only the last pass communicates; the
    /// earlier add up, in the user's memory or in gradient(). A parameter is marked once in every pass. The average is not divided by the
    /// number of passes. The same number on all ranks, called between two steps.
    void accumulate(int passes);

    /// Waits until the ranks have compared their plans, which finish() does otherwise. Throws error::mismatch.
    task<> agree();

    /// Where the gradient lives: the memory it was registered with, or its place in a bucket, aligned for its type.
    buffer gradient(std::size_t parameter) const;
    template <element T>
    std::span<T> gradient(std::size_t parameter) const {
        const buffer memory = gradient(parameter);
        check_type(parameter, type_of<T>);
        return {static_cast<T*>(memory.data), memory.count};
    }

    /// In the order in which they leave.
    std::span<const bucket> buckets() const noexcept;
    /// Of the steps that have ended well.
    const reducer_stats& stats() const noexcept;

private:
    void check_type(std::size_t parameter, data_type type) const;

    class state;
    std::unique_ptr<state> state_;
};

}  // namespace tutti
