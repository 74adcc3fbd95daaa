// The communicators of a machine: which there are, who is in progress, what was injected for which rank.
#pragma once

#include "gpu/sim/work.hpp"
#include "gpu/tables.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tutti::gpu::sim {

class machine;

/// A call in a group that has not ended.
struct group_part {
    communicator* comm = nullptr;
    std::function<ncclResult_t()> launch;
};

class nccl_ranks {
public:
    explicit nccl_ranks(machine& owner) : owner_(owner) {}

    std::string name_of(const void* comm) const;
    std::vector<std::string> leaks() const;

private:
    machine& owner_;
};

}  // namespace tutti::gpu::sim
