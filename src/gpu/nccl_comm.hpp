// A communicator of NCCL's in its mode that does not block, and the rules for calling it: nothing while it is in progress, one thread, and no end on a
// thread that must not block.
#pragma once

#include "gpu/device_state.hpp"
#include "gpu/nccl_types.hpp"
#include "gpu/tables.hpp"

#include <tutti/result.hpp>

#include <optional>
#include <string_view>

namespace tutti::gpu {

/// Belongs to an nccl_carrier. Used on the device's issuing loop, with the device current, until the carrier ends; then on the thread that destroys or
/// aborts it. It translates requests to NCCL's calls, and knows neither order nor deadlines.
class nccl_comm {
public:
    nccl_comm(const nccl_table& nccl, nccl_abilities has) noexcept : nccl_(nccl), has_(has) {}
    nccl_comm(const nccl_comm&) = delete;
    nccl_comm& operator=(const nccl_comm&) = delete;

    enum class state { ready, in_progress, failed };

    state initialize(const ncclUniqueId& id, int size, int me);
    /// Takes a communicator that another one has made.
    state adopt(ncclComm_t made, int size, int me);
    /// Puts a request on the stream, or begins to.
    state issue(const device_request& what, CUstream where);
    state finalize();
    /// Returns the state of the call that was begun. A ready communicator may have failed since.
    state ask();
    /// Returns the reason, after `failed`.
    const failure& why() const noexcept { return *why_; }

    bool exists() const noexcept { return handle_ != nullptr; }
    ncclComm_t handle() const noexcept { return handle_; }

    // These block. Afterwards no communicator exists.
    result<> destroy();
    result<> abort();

private:
    state began(std::string_view call, ncclResult_t code);
    failure failed(std::string_view call, ncclResult_t code) const;
    ncclResult_t call(const device_request& what, CUstream where, ncclRedOp_t op);
    ncclResult_t call_moving(const device_request& what, CUstream where);
    ncclResult_t call_list(const device_request& what, CUstream where, ncclRedOp_t op);
    ncclResult_t exchange(const device_request& what, CUstream where);
    ncclResult_t by_messages(const device_request& what, CUstream where);
    state bear(nccl_birth& what);
    void give_back_operator();

    const nccl_table& nccl_;
    const nccl_abilities has_;
    ncclComm_t handle_ = nullptr;
    int size_ = 0, me_ = 0;
    std::optional<ncclRedOp_t> own_operator_;  // of the call under way
    std::optional<failure> why_;
};

}  // namespace tutti::gpu
