// How late a coroutine goes on after the device has done what it waited for, and what the waiting costs, for each way of finding out.
#pragma once

#include "figures.hpp"
#include "launcher.hpp"
#include "witness.hpp"
#include "workload.hpp"
#include "written_flag.hpp"

#include <tutti/task.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace gpu_bench {

inline constexpr tutti::gpu::poll_mode poll_modes[] = {tutti::gpu::poll_mode::adaptive, tutti::gpu::poll_mode::spin,
                                                       tutti::gpu::poll_mode::timer, tutti::gpu::poll_mode::host_function,
                                                       tutti::gpu::poll_mode::thread};
/// How the end of work is heard of: by a poller; or without one, to compare: the loop looks at a word that the stream writes, in each turn.
using way = std::optional<tutti::gpu::poll_mode>;
inline constexpr way by_flag = std::nullopt;
std::string_view name(way how) noexcept;

struct latency_row {
    way how;
    tutti::duration length{};  // that the device worked each time
    int samples = 0;
    int unwitnessed = 0;                    // of these: the coroutine went on before the witness had seen the flag, so they are not counted
    percentiles seconds;                    // from the device's last instruction to the next one of the coroutine
    double loop_share = 0;                  // of a core, that the loop's thread used
    double others_share = 0;                // of a core, that the other threads of the process used, but for the witness
    launch_count launches, launches_alone;  // of another thread: while the loop waits in this way, and while it sleeps instead
    std::string why_not;                    // nothing was measured
};

/// On the loop it runs on, with the device's own way of polling, or by the flag. The first few are not counted.
tutti::task<latency_row> measure_latency(const workload& device, witness& seen, tutti::duration length, int samples,
                                         const written_flag* flag = nullptr);

/// Counts the launches of another thread while this loop waits for `times` pieces of work, one after the other, as above.
tutti::task<launch_count> measure_launches(const workload& device, witness& seen, tutti::duration length, int times,
                                           const written_flag* flag = nullptr);
/// The same while the device does the same work, and the loop sleeps for a little longer than that takes.
tutti::task<launch_count> measure_launches_alone(const workload& device, witness& seen, tutti::duration length, int times);

}  // namespace gpu_bench
