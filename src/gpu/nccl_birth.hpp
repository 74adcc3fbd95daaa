// A communicator of NCCL's that another one makes, by splitting or by leaving ranks out. What nobody takes is given back.
#pragma once

#include "gpu/device_state.hpp"
#include "gpu/tables.hpp"

#include <tutti/future.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace tutti::gpu {

/// Belongs to the operation that makes it and to whoever waits for that. The table outlives it.
struct nccl_birth {
    nccl_birth(const nccl_table& library, std::shared_ptr<device_state> where) : nccl(library), card(std::move(where)) {}
    nccl_birth(const nccl_birth&) = delete;
    nccl_birth& operator=(const nccl_birth&) = delete;
    ~nccl_birth() {
        if (!made) return;
        card->lifecycle().beside("ncclCommAbort", [&from = nccl, on = card, which = made] {
            const on_device here(on->driver(), on->context());
            from.ncclCommAbort(which);
        });
    }

    /// When it has been made. Null for a rank without a color.
    ncclComm_t take() noexcept { return std::exchange(made, nullptr); }

    const nccl_table& nccl;
    const std::shared_ptr<device_state> card;
    int color = 0, key = 0;
    std::vector<int> without;  // these ranks; none: it is split
    bool begun = false;        // on the issuing loop
    ncclComm_t made = nullptr;
    future<> done;
};

}  // namespace tutti::gpu
