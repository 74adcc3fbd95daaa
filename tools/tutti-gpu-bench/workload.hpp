// The kernels of busy.cu, loaded into a device.
#pragma once

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/device_code.hpp>
#include <tutti/gpu/event.hpp>
#include <tutti/gpu/stream.hpp>

#include <optional>

namespace gpu_bench {

/// Returns the compiled busy.cu that is part of this program.
const tutti::gpu::device_image& busy_image() noexcept;

/// Whatever it enqueues, it throws the failure where that fails.
class workload {
public:
    /// Matrices of `n` x `n`, rounded up to whole tiles.
    workload(const tutti::gpu::device& where, const tutti::gpu::device_image& image, unsigned n);

    const tutti::gpu::device& where() const noexcept { return where_; }

    /// Takes about so long, then writes `value` to pinned memory.
    void delay(const tutti::gpu::stream& on, tutti::duration length, unsigned* flag, unsigned value) const;
    /// Launches a kernel that does nothing.
    void nothing(const tutti::gpu::stream& on) const;
    /// Makes the stream wait for the matrices before all that is enqueued there later.
    void wait(const tutti::gpu::stream& on) const;
    /// Multiplies two matrices `times` times.
    void multiply(const tutti::gpu::stream& on, int times) const;
    void fill(const tutti::gpu::stream& on, float* to, std::size_t count, float value) const;

private:
    tutti::gpu::device where_;
    tutti::gpu::device_code code_;
    tutti::gpu::kernel delay_, nothing_, multiply_, fill_;
    unsigned n_;
    tutti::gpu::device_buffer<float> matrices_;  // three, behind each other
    std::optional<tutti::gpu::event> filled_;
};

}  // namespace gpu_bench
