// Averages gradients over all ranks. The reducer packs parameters into buckets, and sends a bucket while the backward pass still computes
// the next.
#pragma once

#include <tutti/communicator.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {

/// A parameter as the reducer sees it. A gradient without memory lives in the reducer's memory; see reducer::gradient.
struct parameter {
    std::string name;
    buffer gradient;

    parameter(std::string called, buffer at) : name(std::move(called)), gradient(at) {}
    template <detail::offered Range>
    parameter(std::string called, Range&& at) : name(std::move(called)), gradient(detail::writing<Range>(at)) {}
    /// Makes a parameter whose gradient lives in the reducer's memory.
    parameter(std::string called, std::size_t count, data_type type) : name(std::move(called)), gradient(nullptr, count, type) {}
};

/// Parameters of one type that are sent together.
struct bucket {
    data_type type = data_type::f32;
    std::size_t count = 0;                // elements
    std::vector<std::size_t> parameters;  // indices, in the order of the memory

    std::size_t bytes() const noexcept { return count * size_of(type); }
};

/// Equal on all ranks, except `live` and `deadline`.
struct reducer_options {
    std::size_t first_bucket = 1 * MiB;      // bytes of each type's first bucket; small, so that it leaves early
    std::size_t bucket = 25 * MiB;           // bytes of the other buckets
    std::span<const std::size_t> caps = {};  // replaces both: bytes of each bucket, the last for all others; read by the constructor
    std::size_t live = 64;                   // most buckets under way at the same time
    reduce_op op = avg;                      // or sum
    duration deadline{};                     // of a bucket; 0: the communicator's default
};

/// Measures how much communication overlapped with computation.
struct overlap {
    std::uint64_t steps = 0;
    std::uint64_t bytes = 0;  // of gradients
    duration busy{};          // time in which at least one bucket was under way
    duration exposed{};       // time in which finish() waited

    /// Returns 1 if all communication overlapped with computation, 0 if none did.
    double ratio() const noexcept;
};
/// The overlap so far.
struct reducer_stats {
    overlap last;  // the last step
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
/// Buckets hold parameters in reverse order of registration, the order in which a backward pass finishes them. A parameter larger than a
/// bucket's cap is sent alone. Buckets leave in one order on all ranks, in whatever order gradients become ready. The ranks compare their
/// parameters and buckets before the first gradient leaves. If they differ, the first finish() throws error::mismatch on all ranks, naming
/// the first difference.
///
/// Memory. If a parameter has memory of its own, ready() copies it to its bucket, and finish() copies the average back after the whole step
/// has succeeded; until then the memory is unchanged. A parameter without memory lives in the bucket and is never copied; after a failure
/// its content is indeterminate. The constructor allocates the memory of all buckets, as much as all gradients take; it starts as zeros.
///
/// Order. The communicator belongs to the reducer from the first ready() of a step to the end of its finish(), and until the first agree()
/// or finish() has ended. Other collectives use another communicator (communicator::split).
///
/// Failure. A wrong mark (a parameter marked twice, or missing at finish()) fails the communicator, because other ranks wait for the
/// buckets. On this rank finish() of that step throws error::invalid_argument naming the parameters; on the others the failure names rank
/// and parameters. After any failure the reducer stays failed.
///
/// Threads. ready() and mark_unused() may be called from any thread, one at a time. Everything else belongs to the thread that awaits
/// finish(), before or after those calls: a new step begins after the earlier finish() has ended.
class reducer {
public:
    static constexpr std::size_t parameter_limit = 1 << 20;
    static constexpr std::size_t least_cap = 1 * KiB;  // so that 25 is not taken for 25 MiB

    /// Starts the comparison of the ranks' plans and does not wait, so all ranks construct their reducers in the same order. `over`
    /// outlives all other calls. Throws error::invalid_argument for impossible options or parameters, and error::unsupported for a type
    /// without an average (or sum).
    reducer(communicator& over, std::vector<parameter> parameters, reducer_options options = {});
    reducer(const reducer&) = delete;
    reducer& operator=(const reducer&) = delete;
    /// Does not block. In the middle of a step, from the first mark of its last pass on, the other ranks wait for this one. It then fails
    /// the communicator with error::aborted, unless that has failed or the ranks have disagreed. The comparison of the plans continues
    /// without the reducer.
    ~reducer();

    /// Marks a parameter's gradient as complete; it stays untouched until finish() has ended. If that completes the next bucket in order,
    /// the bucket leaves. Never blocks on a peer and never throws because of one.
    void ready(std::size_t parameter);
    /// Marks a parameter that got no gradient in this pass; it counts as zero.
    void mark_unused(std::size_t parameter);
    /// Ends the step, after the last ready(): waits for all buckets and writes the averages to the gradients.
    task<> finish();

    /// Makes each later step consist of `passes` backward passes, with finish() after each. Only the last pass communicates; the earlier
    /// ones accumulate in the user's memory or in gradient(). A parameter is marked once in every pass. The average is not divided by the
    /// number of passes. All ranks give the same number, between two steps.
    void accumulate(int passes);

    /// Waits until the ranks have compared their plans; without this call, finish() does. Throws error::mismatch.
    task<> agree();

    /// Returns the gradient's memory: its own, or its part of a bucket, aligned for its type.
    buffer gradient(std::size_t parameter) const;
    template <element T>
    std::span<T> gradient(std::size_t parameter) const {
        const buffer memory = gradient(parameter);
        check_type(parameter, type_of<T>);
        return {static_cast<T*>(memory.data), memory.count};
    }

    /// Returns the buckets in the order in which they leave.
    std::span<const bucket> buckets() const noexcept;
    /// Returns statistics of the steps that have succeeded.
    const reducer_stats& stats() const noexcept;

private:
    void check_type(std::size_t parameter, data_type type) const;

    class state;
    std::unique_ptr<state> state_;
};

}  // namespace tutti
