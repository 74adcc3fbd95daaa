// Every instruction set that was compiled and that this machine can run, one at a time.
#pragma once

#include <hwy/highway.h>

#include <cstdint>
#include <vector>

namespace tutti::test {

inline std::vector<std::int64_t> all_targets() {
    std::vector<std::int64_t> targets;
    const std::int64_t usable = HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET);
    for (std::int64_t rest = usable; rest != 0; rest &= rest - 1) targets.push_back(rest & -rest);
    return targets;
}

/// While it lives, kernels run on this target only.
class only_target {
public:
    explicit only_target(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
    only_target(const only_target&) = delete;
    only_target& operator=(const only_target&) = delete;
    ~only_target() { hwy::SetSupportedTargetsForTest(0); }
};

}  // namespace tutti::test
