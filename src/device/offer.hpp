// A rank's description of its device, which it sends to the other ranks before they join, and the choice of the engine from all offers.
#pragma once

#include <tutti/gpu/communicator.hpp>
#include <tutti/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::gpu {

struct device_offer {
    static constexpr std::size_t bytes = 1024;  // written

    std::string no_device, no_nccl;  // the reason for which there is none; empty: there is one
    engine_kind wanted = engine_kind::automatic;
    std::uint64_t chunk_bytes = 0;
    int window = group_options().window;
    std::string uuid;
    std::string host;    // the name by which NCCL tells hosts apart
    std::string chosen;  // what decided which device it is: "LOCAL_RANK=1, CUDA_VISIBLE_DEVICES=0"
    int ordinal = 0;
    int nccl_version = 0;
    bool may_share_device = false;  // NCCL has been told to let ranks share one

    void write(std::span<std::byte> into) const;
    static device_offer read(std::span<const std::byte> from);
};

/// These two describe this process: its host, as NCCL names it, and how its device was chosen. `host` is the number of the rank's host.
std::string nccl_host(int host);
std::string device_choice();

/// The engine of a device communicator; `kind` is never engine_kind::automatic.
struct engine_choice {
    engine_choice() = default;  // g++ 12 destroys aggregates twice in a co_await

    engine_kind kind = engine_kind::nccl;
    std::string why;    // the reason, if the ranks would prefer another engine
    bool told = false;  // no rank has asked for it
    std::size_t chunk_bytes = 0;
};
/// Chooses the engine from the offers of all ranks. All ranks get the same answer or the same failure.
result<engine_choice> choose_engine(const std::vector<device_offer>& all);

}  // namespace tutti::gpu
