// The kernels of tutti-gpu-bench as a simulated device has them.
#pragma once

#include "gpu/sim/machine.hpp"

#include <tutti/gpu/device_code.hpp>

#include <functional>

namespace tutti::test {

/// A simulated device has the kernels that were offered to it, whatever image is loaded.
inline constexpr std::byte some_bytes[16]{};
inline const gpu::device_image any_image{"any.cu", some_bytes};

/// `flagged` hears of each value that a delay writes, on the thread that runs the kernel.
void offer_busy(gpu::sim::machine& to, std::function<void(unsigned)> flagged = {});

/// That a multiplication takes there.
duration multiplication(unsigned rows);
duration filling(std::size_t floats);

}  // namespace tutti::test
