// What a rank tells the others of its device before they join, and what can be wrong with all of it together.
#pragma once

#include <tutti/result.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::gpu {

struct seat {
    static constexpr std::size_t bytes = 1024;  // written

    std::string why_not;  // empty: this rank can take part
    std::string uuid;
    std::string host;    // as NCCL tells hosts apart
    std::string chosen;  // what decided which device it is: "CUDA_VISIBLE_DEVICES=0, LOCAL_RANK=1"
    int ordinal = 0;
    int nccl_version = 0;
    bool shared = false;  // NCCL has been told to let ranks share a device

    void write(std::span<std::byte> into) const;
    static seat read(std::span<const std::byte> from);
};

/// Of this process. `host` is the number of the rank's host.
std::string nccl_host(int host);
std::string device_choice();

/// The same answer on all ranks.
std::optional<failure> objection(const std::vector<seat>& all);

}  // namespace tutti::gpu
