// The command line of tutti-perf.
#pragma once

#include "algorithm/catalogue.hpp"

#include <tutti/types.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace perf {

struct options {
    tutti::collective kind = tutti::collective::all_reduce;
    std::vector<std::uint64_t> bytes;
    tutti::data_type type = tutti::data_type::f32;
    tutti::reduce_op reduce = tutti::reduce_op::sum;
    int iterations = 0;   // in a batch; 0: as many as fit
    double seconds = 1;   // for the measured part of one size
    bool in_place = false;
    bool check = true;
    std::string json;     // a file; empty: none
};

/// The options, or the process's exit code. Every rank reads the same command line, so only the one that `speaks` prints.
std::variant<options, int> parse(int argc, const char* const* argv, bool speaks);

}  // namespace perf
