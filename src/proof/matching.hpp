// Which send meets which recv: the k-th send of one rank to another is the k-th recv there. This needs no run of the plans.
#pragma once

#include "schedule/schedule.hpp"

#include <string>

namespace tutti {

/// One side of a transfer: a step of a rank's plan.
struct endpoint {
    rank who = 0;
    int round = 0;
    const step* line = nullptr;
};

/// All transfers from one rank to another, in order.
struct channel {
    std::vector<endpoint> sends;
    std::vector<endpoint> recvs;
};

/// Channels of a world by (source, target). Every peer in the plans must be a rank of it. The plans must outlive it.
class matching {
public:
    explicit matching(std::span<const schedule> plans);

    int size() const noexcept { return size_; }
    const channel& between(rank source, rank target) const noexcept { return channels_[index_of(source, target)]; }
    std::span<const channel> channels() const noexcept { return channels_; }
    std::size_t index_of(rank source, rank target) const noexcept { return static_cast<std::size_t>(source * size_ + target); }

private:
    int size_;
    std::vector<channel> channels_;
};

}  // namespace tutti
