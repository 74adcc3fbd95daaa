// The work that ran on the streams and when, and the calls that held up the host, for tests of overlap and order.
#pragma once

#include <tutti/types.hpp>

#include <string>
#include <thread>
#include <vector>

namespace tutti::gpu::sim {

enum class work_kind { kernel, copy, fill, record, wait, host_function, collective, free };

/// A piece of work that has ended.
struct interval {
    work_kind kind = work_kind::kernel;
    std::string name;  // of a kernel: the test's; of a copy: "host to device" and so on; of NCCL's work: the call
    int stream = 0;    // machine::number_of
    int device = 0;
    std::size_t bytes = 0;
    time_point enqueued{};
    time_point started{};
    time_point ended{};
};

inline bool intersect(const interval& one, const interval& other) { return one.started < other.ended && other.started < one.ended; }

/// A call that made its thread wait for a device.
struct host_wait {
    std::string call;
    std::string thread;
};

class trace {
public:
    std::vector<interval> intervals;  // in the order of their ends
    std::vector<host_wait> waits;

    std::vector<interval> of(int stream) const;
    std::vector<interval> of(work_kind kind) const;
    std::vector<interval> named(const std::string& name) const;
    /// How long work of both kinds was under way at once, on any streams.
    duration overlap(work_kind one, work_kind other) const;
    /// Of all work of a kind, whatever overlaps counted once.
    duration busy(work_kind kind) const;
};

}  // namespace tutti::gpu::sim
