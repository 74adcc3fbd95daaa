// Witnesses that see when a device sets a flag. Latencies are measured against these times.
#pragma once

#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/types.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace gpu_bench {

/// How much longer than it works anybody waits for what a device writes.
inline constexpr tutti::duration patience = std::chrono::seconds(10);

class witness {
public:
    /// In pinned memory. Values grow by one, from 1 on, and are asked for in turn.
    virtual unsigned* flag() noexcept = 0;
    /// The flag's memory, for as long as a device may write there.
    virtual tutti::gpu::keep_alive keep() const noexcept = 0;
    /// When this value came. The device has set it; where it has not been seen yet, waits for that. Throws error::timed_out when it does not come.
    virtual tutti::time_point seen(unsigned value) = 0;
    /// That it has used itself.
    virtual double cpu_seconds() const = 0;

protected:
    ~witness() = default;
};

/// A thread that looks at the flag without a pause, on a core of its own.
class spinning_witness final : public witness {
public:
    explicit spinning_witness(const tutti::gpu::device& where, tutti::duration most = patience);
    spinning_witness(const spinning_witness&) = delete;
    spinning_witness& operator=(const spinning_witness&) = delete;
    ~spinning_witness();

    unsigned* flag() noexcept override { return flag_.data(); }
    tutti::gpu::keep_alive keep() const noexcept override { return flag_.keep(); }
    tutti::time_point seen(unsigned value) override;
    double cpu_seconds() const override;

private:
    void watch();

    tutti::gpu::pinned_buffer<unsigned> flag_;
    tutti::duration most_;
    std::atomic<unsigned> last_ = 0;
    std::atomic<tutti::time_point> when_{};
    std::atomic<bool> stopping_ = false;
    mutable std::thread thread_;
};

/// Returns the processor time of this thread, in seconds.
double cpu_seconds_of_this_thread() noexcept;

}  // namespace gpu_bench
