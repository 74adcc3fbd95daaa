// The command line of tutti-gpu-bench.
#pragma once

#include "call_cost.hpp"
#include "latency.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gpu_bench {

enum class part { latency, overlap, nccl };

inline constexpr int failed = 1, usage_error = 2, no_device = 3;  // exit codes

struct options {
    gpu_bench::part part{};
    int device = 0;
    std::string json, svg;
    // latency
    std::vector<way> modes;
    std::vector<double> lengths_us{20, 100, 200, 1000, 5000, 50000};
    int samples = 200;
    // overlap
    std::vector<std::uint64_t> buckets;  // bytes
    int layers = 24, steps = 10;
    int launches = 0;  // of each layer; 0: so many that computing takes as long as communication
    unsigned matrix = 512;
    std::uint64_t chunk_bytes = 2 << 20;
    int window = 4;
    bool everywhere = false;  // not on rank 0 alone
    tutti::gpu::poll_mode polling{};
    // nccl
    call_plan calls;
    bool share_device = false;
};

/// The options, or the exit code. `speaks`: whether this process tells what is wrong.
std::variant<options, int> parse(int argc, const char* const* argv, bool speaks);

}  // namespace gpu_bench
