#include "kernels.hpp"

#include <algorithm>
#include <atomic>

namespace tutti::test {
namespace {

using gpu::sim::kernel_launch;
using gpu::sim::kernel_work;

kernel_work delay(const kernel_launch& made, const std::function<void(unsigned)>& flagged) {
    auto* const flag = made.parameter<unsigned*>(1);
    const auto value = made.parameter<unsigned>(2);
    kernel_work meant;
    meant.length = std::chrono::nanoseconds(made.parameter<unsigned long long>(0));
    meant.touches = {{made.parameter<CUdeviceptr>(1), sizeof value}};
    meant.body = [flag, value, flagged] {
        std::atomic_ref<unsigned>(*flag).store(value, std::memory_order_release);
        if (flagged) flagged(value);
    };
    return meant;
}

/// Only its time counts.
kernel_work multiply(const kernel_launch& made) {
    const auto rows = made.parameter<unsigned>(3);
    kernel_work meant;
    meant.length = multiplication(rows);
    for (const std::size_t place : {0u, 1u, 2u}) meant.touches.push_back({made.parameter<CUdeviceptr>(place), sizeof(float) * rows * rows});
    return meant;
}

kernel_work fill(gpu::sim::machine& on, const kernel_launch& made) {
    const auto to = made.parameter<CUdeviceptr>(0);
    const auto count = static_cast<std::size_t>(made.parameter<unsigned long long>(1));
    kernel_work meant;
    meant.length = filling(count);
    meant.touches = {{to, count * sizeof(float)}};
    meant.body = [&on, to, count, value = made.parameter<float>(2)] { std::fill_n(on.shadow_of<float>(to), count, value); };
    return meant;
}

}  // namespace

duration multiplication(unsigned rows) { return std::chrono::microseconds(10) + std::chrono::nanoseconds(rows * rows * rows / 5000); }
duration filling(std::size_t floats) { return std::chrono::microseconds(2) + std::chrono::nanoseconds(floats / 1000); }

void offer_busy(gpu::sim::machine& to, std::function<void(unsigned)> flagged) {
    to.offer({"delay", {8, 8, 4}, [flagged = std::move(flagged)](const kernel_launch& made) { return delay(made, flagged); }});
    to.offer({"nothing", {}, [](const kernel_launch&) {
                  kernel_work meant;
                  meant.length = std::chrono::microseconds(2);
                  return meant;
              }});
    to.offer({"multiply", {8, 8, 8, 4}, multiply});
    to.offer({"fill", {8, 8, 4}, [&to](const kernel_launch& made) { return fill(to, made); }});
}

}  // namespace tutti::test
