// Another thread of the program that keeps the driver busy meanwhile: it launches kernels that do nothing.
#pragma once

#include "workload.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

namespace gpu_bench {

struct launch_count {
    std::uint64_t launches = 0;
    double seconds = 0;  // within the calls that launch

    double per_second() const noexcept { return seconds > 0 ? static_cast<double>(launches) / seconds : 0; }
};

/// In bursts, on a stream of its own. The device is through with one before the next begins, so that a full queue holds no thread up.
class launcher {
public:
    static constexpr int burst = 64;

    explicit launcher(const workload& device);
    launcher(const launcher&) = delete;
    launcher& operator=(const launcher&) = delete;
    ~launcher();

    /// Ends it, after one burst at least. Throws the failure where a launch has failed.
    launch_count stop();

private:
    void launch_all();
    void launch_burst();

    const workload& device_;
    tutti::gpu::stream stream_;
    launch_count count_;
    std::optional<tutti::failure> why_not_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace gpu_bench
