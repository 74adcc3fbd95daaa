// Measures the cost of NCCL's calls for the host, through the library and without it: processor time, and operations in a second.
#pragma once

#include <tutti/communicator.hpp>
#include <tutti/gpu/communicator.hpp>
#include <tutti/task.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::gpu {
struct nccl_table;
}

namespace gpu_bench {

/// Operators for which NCCL runs a kernel also where there is one rank.
enum class scaling { avg, premul_sum };
inline constexpr float premul_factor = 0.5f;

enum class caller { library, blocking, non_blocking };  // the latter two are NCCL's own communicators, called without Tutti

struct call_plan {
    std::vector<std::uint64_t> bytes{4, 4096, 1 << 20};
    int times = 2000;
    int window = 16;  // operations on the stream; 1: each is waited for before the next
};

struct call_row {
    caller who{};
    scaling op{};
    std::uint64_t bytes = 0;
    int window = 0;
    double seconds = 0;      // of one operation
    double cpu_seconds = 0;  // of all of this process's threads, for one operation
    std::size_t wrong = 0;   // elements, on this rank
};

std::string_view name(scaling op) noexcept;
std::string_view name(caller who) noexcept;

/// All ranks call it, each with a device; `all` is made from `world`, and has NCCL for its engine.
tutti::task<std::vector<call_row>> measure_calls(tutti::communicator& world, tutti::gpu::communicator& all, const tutti::gpu::device& card,
                                                 const tutti::gpu::nccl_table& nccl, const call_plan& plan);

}  // namespace gpu_bench
