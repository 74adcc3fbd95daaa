#include "training.hpp"

namespace gpu_bench {
namespace {

// Small whole numbers, so that sums are exact; no two steps or layers that follow each other are alike.
int varying(int layer, int step) noexcept { return layer % 8 + 8 * (step % 16); }

}  // namespace

std::string_view name(variant how) noexcept {
    constexpr std::string_view names[] = {"computing", "communication", "serial", "overlapped", "ordered", "hand_written"};
    return names[static_cast<int>(how)];
}

float contribution(int me, bool on_device, int layer, int step) noexcept {
    return static_cast<float>(me + 1 + (on_device ? varying(layer, step) : 0));
}

float expected_sum(int ranks, int ranks_on_devices, int layer, int step) noexcept {
    return static_cast<float>(ranks * (ranks + 1) / 2 + ranks_on_devices * varying(layer, step));
}

}  // namespace gpu_bench
