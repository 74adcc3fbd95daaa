// One rank's part of a training step: layers that compute one after the other, and a bucket of gradients of each to be summed over all ranks.
// The results of the layers are of no use; the sums are checked.
#pragma once

#include "intervals.hpp"

#include <tutti/communicator.hpp>
#include <tutti/task.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace gpu_bench {

/// In the order in which they are measured, in turns.
enum class variant {
    computing,      // and nothing else
    communication,  // of all buckets at once, and nothing else
    serial,         // each bucket is summed before the next layer computes
    overlapped,     // each bucket is on its way as soon as it is there; the host waits for all of them
    ordered,        // the same, but the compute stream waits for them, and the host for that
    hand_written,   // the same, by threads that block
};
inline constexpr std::array variants{variant::computing,  variant::communication, variant::serial,
                                     variant::overlapped, variant::ordered,       variant::hand_written};
std::string_view name(variant how) noexcept;
/// Returns whether the variant both computes and communicates, so that its sums can be checked.
constexpr bool is_whole(variant how) noexcept { return how != variant::computing && how != variant::communication; }

/// The same on all ranks.
struct training_plan {
    int layers = 24;
    std::size_t bucket_count = 0;  // of floats
    // For `hand_written` only:
    std::size_t chunk_count = 0;  // of floats
    int window = 4;               // chunks under way

    std::size_t all_count() const noexcept { return static_cast<std::size_t>(layers) * bucket_count; }
};

/// Returns the number that rank `me` adds to a bucket. Ranks without a device always add the same.
float contribution(int me, bool on_device, int layer, int step) noexcept;
/// Returns the sum of all ranks' contributions.
float expected_sum(int ranks, int ranks_on_devices, int layer, int step) noexcept;

/// Seconds, from the step's begin on.
struct step_record {
    double seconds = 0;
    double computed = 0;  // when all layers had; only known of an overlapped step
    std::vector<interval> layers, buckets;
};

/// A rank with a device, or one without.
class trainer {
public:
    virtual tutti::task<step_record> step(variant how, int number) = 0;
    /// An overlapped step, with what went on when; that costs a little.
    virtual tutti::task<step_record> traced_step(int number) = 0;
    /// Elements that are not the sum of step `number`, which was the last.
    virtual tutti::task<std::size_t> wrong(int number, int ranks_on_devices) = 0;
    /// Layers are made to take about so long from now on, all together.
    virtual tutti::task<> balance(double seconds) = 0;
    /// Kernels of a layer; 0 without a device.
    virtual int launches() const noexcept = 0;

protected:
    ~trainer() = default;
};

}  // namespace gpu_bench
