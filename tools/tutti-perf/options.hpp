// The command line of tutti-perf.
#pragma once

#include "subject.hpp"

#include <tutti/context.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace perf {

/// As users write it: "premul_sum" for premul.
std::string_view operator_name(tutti::reduce_op op) noexcept;
std::span<const tutti::data_type> measured_types() noexcept;
std::span<const tutti::reduce_op> measured_operators() noexcept;

struct options {
    const subject* what = nullptr;
    std::vector<std::uint64_t> bytes;
    tutti::data_type type = tutti::data_type::f32;
    tutti::reduce_op reduce = tutti::reduce_op::sum;
    const tutti::algorithm* forced = nullptr;        // null: by cost
    std::optional<tutti::transport_kind> transport;  // none: what the environment says
    int lanes = 1;                                   // for bulk data between two ranks
    int threads = 1;                                 // of each rank, for these
    std::string list;                                // a name or file for tensors_of; empty: single vectors
    double overlap_ms = 0;                           // of computation beside; 0: none
    int iterations = 0;                              // in a batch; 0: as many as fit
    double seconds = 1;                              // for the measured part of one size
    bool in_place = false;
    bool spin = false;
    bool arena = false;  // memory from communicator::allocate
    bool alone = false;  // a barrier before each operation
    bool cold = false;   // each operation finds its vector in no cache
    bool check = true;
    bool deterministic = false;
    std::string json;  // a file; empty: none

    bool reduces() const noexcept { return what->reduces(); }
    /// Returns the elements of one share, for a whole vector of `whole_bytes`.
    std::uint64_t count_for(std::uint64_t whole_bytes, int size) const noexcept;
};

/// The options, or the process's exit code. Every rank reads the same command line, so only the one that `speaks` prints.
std::variant<options, int> parse(int argc, const char* const* argv, bool speaks);

}  // namespace perf
