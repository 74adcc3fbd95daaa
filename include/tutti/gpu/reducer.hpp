// Gradients on devices in, averaged gradients out: tutti::reducer for memory of devices.
#pragma once

#include <tutti/gpu/communicator.hpp>
#include <tutti/gpu/device_span.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/reducer.hpp>
#include <tutti/task.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// What the reducer knows of a parameter. A gradient without memory gets its memory from the reducer; see reducer::gradient.
struct parameter {
    std::string name;
    device_span gradient;

    parameter(std::string called, device_span at) : name(std::move(called)), gradient(std::move(at)) {}
    /// One whose gradient lives in the reducer's memory.
    parameter(std::string called, std::size_t count, data_type type) : name(std::move(called)), gradient(nullptr, count, type) {}
};

/// Averages the gradients of all ranks where they are, step by step, while the device computes:
///
///     tutti::gpu::reducer gradients{on_cards, parameters};
///     for (...) {
///         net.backward(batch, compute, [&](std::size_t parameter) { gradients.ready(parameter, compute); });
///         co_await gradients.finish_on(compute);   // what is put on `compute` from now on finds the averages
///         net.step(compute);
///     }
///
/// Buckets, their order, the comparison of the ranks' plans, marks, passes and what they measure are tutti::reducer's. What differs:
///
/// Waiting. A bucket comes after what had been put on the streams of its ready() calls when the last of them was made. No thread waits for
/// the device: finish_on() waits until NCCL has been given the last bucket, finish() until the device has averaged it. A bucket leaves when
/// the device has averaged the one with its number of the step before, so the host is ahead of the device by one step at most.
///
/// Memory. Nothing is copied. Parameters registered with memory are averaged there, all of a bucket as one operation; those without live in
/// one allocation of the reducer's, uninitialized, in which the others of their bucket lie beside them. After a failure the gradients are
/// indeterminate. Memory of the user's outlives the last operation on it: registered with a keep-alive (a device_buffer brings it), it is
/// held until then.
///
/// Without a device. In a group in which some ranks have none, gradients are memory of the host there: they are complete when they are marked,
/// and both ends of a step are finish(). Streams that are named are not looked at.
///
/// Failure. As of tutti::reducer, but that dropping the reducer or a finish in the middle of a step aborts the communicator. What goes wrong on
/// the device after finish_on() has ended is told by the next one.
class reducer {
public:
    /// Waits for neither device nor ranks, but allocates. Otherwise as tutti::reducer's; error::unsupported for types that cannot be averaged.
    /// Whatever it throws fails the communicator: the other ranks' reducers would wait for this one.
    reducer(communicator& over, std::vector<parameter> parameters, reducer_options options = {});
    reducer(const reducer&) = delete;
    reducer& operator=(const reducer&) = delete;
    /// Does not block.
    ~reducer();

    /// What has been put on `behind` so far makes the parameter's gradient complete; it stays untouched until the step has ended.
    void ready(std::size_t parameter, const stream& behind);
    /// This pass made no gradient for the parameter: it counts as zero, which is put on `behind`.
    void mark_unused(std::size_t parameter, const stream& behind);
    /// The same on a rank without a device: the gradient is complete; or it counts as zero.
    void ready(std::size_t parameter);
    void mark_unused(std::size_t parameter);
    /// Ends the step, after the last ready(): what is put on `compute` from now on comes after the averages.
    task<> finish_on(stream compute);
    /// Ends the step when the averages are there.
    task<> finish();

    /// As tutti::reducer's.
    void accumulate(int passes);
    task<> agree();

    /// Where the gradient lives. In the reducer's memory it is aligned for its type, the first of a bucket to 256 bytes.
    device_span gradient(std::size_t parameter) const;
    /// In the order in which they leave.
    std::span<const bucket> buckets() const noexcept;
    /// Of the steps whose averages the host knows to be there, by when it heard of the device's events: `busy`, at least one bucket was
    /// complete and not yet averaged; `exposed`, the last one was.
    reducer_stats stats() const;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace gpu
}  // namespace tutti
