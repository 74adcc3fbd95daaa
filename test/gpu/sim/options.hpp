// The properties of a simulated machine: how many devices, how fast, on which clock.
#pragma once

#include <tutti/types.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::gpu::sim {

/// stepped: virtual time, work runs only while the clock is moved, the same for the same seed. threaded: a thread for each stream, real time.
enum class engine { stepped, threaded };

/// Time = alpha + bytes * nanoseconds_per_byte.
struct cost {
    duration alpha{};
    double nanoseconds_per_byte = 0;

    duration of(std::size_t bytes) const {
        return alpha + duration(static_cast<duration::rep>(nanoseconds_per_byte * static_cast<double>(bytes)));
    }
};

struct options {
    sim::engine engine = sim::engine::stepped;
    int devices = 1;
    std::uint64_t seed = 1;  // of the order in which streams are served, of jitter, of when NCCL enqueues
    duration jitter{};       // every piece of work takes up to this much longer
    cost copy{std::chrono::microseconds(8), 0.02};
    cost fill{std::chrono::microseconds(4), 0.0005};
    cost collective{std::chrono::microseconds(20), 0.01};
    std::size_t device_bytes = GiB;
    bool strict = true;  // calls of NCCL that do not match are misuse; they hang either way
    int polls = 1;       // how often ncclCommGetAsyncError says ncclInProgress after each call on a non-blocking communicator
    int capability = 90;  // of the devices to compute
    int driver_version = 13000;
    int nccl_version = NCCL_VERSION_CODE;
    std::vector<std::string> missing;  // symbols that are null in the tables; with an older version those it lacks are, too
    /// Real time after which a blocking call that nothing can end any more is given up, as misuse. Stepped engine only.
    duration patience = std::chrono::seconds(20);
};

}  // namespace tutti::gpu::sim
