// A communicator of NCCL's that another one makes, by a split or a shrink. It is aborted if it is not taken.
#pragma once

#include "gpu/device_state.hpp"
#include "gpu/tables.hpp"

#include <tutti/future.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace tutti::gpu {

/// Shared by the operation that makes it and the code that waits for it (device/parts.cpp). The table must outlive it.
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

    /// Takes the communicator, after it has been made. Null for a rank without a color.
    ncclComm_t take() noexcept { return std::exchange(made, nullptr); }

    const nccl_table& nccl;
    const std::shared_ptr<device_state> card;
    int color = 0, key = 0;
    std::vector<int> without;  // the ranks that a shrink leaves out; empty: a split
    bool begun = false;        // on the issuing loop
    ncclComm_t made = nullptr;
    future<> done;
};

}  // namespace tutti::gpu
