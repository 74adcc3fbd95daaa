// How late a coroutine goes on after the device has done what it waited for, and what the waiting costs, for each way of finding out.
#pragma once

#include "figures.hpp"
#include "witness.hpp"
#include "workload.hpp"

#include <tutti/task.hpp>

#include <string_view>

namespace gpu_bench {

inline constexpr tutti::gpu::poll_mode poll_modes[] = {tutti::gpu::poll_mode::adaptive, tutti::gpu::poll_mode::spin,
                                                       tutti::gpu::poll_mode::timer, tutti::gpu::poll_mode::host_function,
                                                       tutti::gpu::poll_mode::thread};
std::string_view name(tutti::gpu::poll_mode mode) noexcept;

struct latency_row {
    tutti::gpu::poll_mode mode{};
    tutti::duration length{};  // that the device worked each time
    int samples = 0;
    int unwitnessed = 0;      // of these: the coroutine went on before the witness had seen the flag, so they are not counted
    percentiles seconds;      // from the device's last instruction to the next one of the coroutine
    double loop_share = 0;    // of a core, that the loop's thread used
    double others_share = 0;  // of a core, that the other threads of the process used, but for the witness
};

/// On the loop it runs on, with the device's own way of polling. The first few are not counted.
tutti::task<latency_row> measure_latency(const workload& device, witness& seen, tutti::duration length, int samples);

}  // namespace gpu_bench
