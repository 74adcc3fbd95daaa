// The kernels of tutti-gpu-bench as a simulated device has them.
#pragma once

#include "gpu/sim/machine.hpp"

#include <functional>

namespace tutti::test {

/// `flagged` hears of each value that a delay writes, on the thread that runs the kernel.
void offer_busy(gpu::sim::machine& to, std::function<void(unsigned)> flagged = {});

/// That a multiplication takes there.
duration multiplication(unsigned rows);
duration filling(std::size_t floats);

}  // namespace tutti::test
