// The lines of a measurement, with the columns of nccl-tests: as text for people, as JSON for programs.
#pragma once

#include "samples.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace perf {

struct row {
    std::string op;           // "all_reduce"
    std::uint64_t bytes = 0;  // of the whole vector
    std::uint64_t count = 0;  // elements, as the call takes them
    std::string type;
    std::string reduce_op;  // "none" where nothing is reduced
    int ranks = 1;
    std::string transport;
    std::string algorithm;
    summary times;
    double bus_factor = 1;    // busbw by algbw
    std::int64_t wrong = -1;  // elements, on all ranks together; -1: not looked at

    /// Bytes of the vector over time, in GB/s.
    double algorithm_bandwidth() const noexcept;
    /// Bytes that a link has to carry over time, as nccl-tests define them, in GB/s: comparable between numbers of ranks.
    double bus_bandwidth() const noexcept;
    double cpu_seconds_per_gigabyte() const noexcept;
};

/// The columns' names and units.
std::string heading();
std::string to_line(const row& one);
std::string to_json(const std::vector<row>& all);

}  // namespace perf
