// Averages gradients on devices: tutti::reducer for device memory.
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

/// A parameter as the reducer sees it. A gradient without memory lives in the reducer's memory; see reducer::gradient.
struct parameter {
    std::string name;
    device_span gradient;

    parameter(std::string called, device_span at) : name(std::move(called)), gradient(std::move(at)) {}
    /// Makes a parameter whose gradient lives in the reducer's memory.
    parameter(std::string called, std::size_t count, data_type type) : name(std::move(called)), gradient(nullptr, count, type) {}
};

/// Averages the gradients of all ranks in place, step by step, while the device computes:
///
///     tutti::gpu::reducer gradients{on_cards, parameters};
///     for (...) {
///         net.backward(batch, compute, [&](std::size_t parameter) { gradients.ready(parameter, compute); });
///         co_await gradients.finish_on(compute);   // later work on `compute` finds the averages
///         net.step(compute);
///     }
///
/// Buckets, their order, the comparison of the ranks' plans, marks, passes and statistics are as in tutti::reducer. The differences:
///
/// Waiting. A bucket comes after the work that was on the streams of its ready() calls at the time of the last one. No thread waits for the
/// device: finish_on() waits until NCCL has been given the last bucket, finish() until the device has averaged it. A bucket leaves after
/// the device has averaged the bucket of that number of the step before, so the host is at most one step ahead of the device.
///
/// Memory. Nothing is copied. Parameters registered with memory are averaged there, all of a bucket in one operation. The others live in
/// one uninitialized allocation of the reducer's, in which a bucket is contiguous. After a failure the gradients are indeterminate. The
/// user's memory outlives the last operation on it; if it is registered with a keep-alive (a device_buffer has one), that is held until
/// then.
///
/// Without a device. On a rank without a device gradients are host memory. They are complete when they are marked, both ends of a step are
/// finish(), and streams are ignored.
///
/// Failure. As in tutti::reducer, but dropping the reducer or a finish in the middle of a step aborts the communicator. A failure on the
/// device after finish_on() has ended is thrown by the next one.
class reducer {
public:
    /// Allocates, but waits for neither device nor ranks. Otherwise like tutti::reducer; error::unsupported for types that cannot be
    /// averaged. Any exception fails the communicator, because the other ranks' reducers would wait for this one.
    reducer(communicator& over, std::vector<parameter> parameters, reducer_options options = {});
    reducer(const reducer&) = delete;
    reducer& operator=(const reducer&) = delete;
    /// Does not block.
    ~reducer();

    /// Marks the parameter's gradient as complete after the work now on `behind`; it stays untouched until the step has ended.
    void ready(std::size_t parameter, const stream& behind);
    /// Marks a parameter that got no gradient in this pass; it counts as zero, which is written on `behind`.
    void mark_unused(std::size_t parameter, const stream& behind);
    /// Marks a gradient on a rank without a device: complete, or zero.
    void ready(std::size_t parameter);
    void mark_unused(std::size_t parameter);
    /// Ends the step, after the last ready(): later work on `compute` comes after the averages.
    task<> finish_on(stream compute);
    /// Ends the step when the averages are there.
    task<> finish();

    /// As in tutti::reducer.
    void accumulate(int passes);
    task<> agree();

    /// Returns the gradient's memory. In the reducer's memory it is aligned for its type, the first of a bucket to 256 bytes.
    device_span gradient(std::size_t parameter) const;
    /// Returns the buckets in the order in which they leave.
    std::span<const bucket> buckets() const noexcept;
    /// Returns statistics of the steps whose averages the host knows to be complete, timed by the device's events. `busy`: at least one
    /// bucket was complete and not yet averaged; `exposed`: the last one was.
    reducer_stats stats() const;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace gpu
}  // namespace tutti
