// The checks with which calls on a communicator begin.
#pragma once

#include "gpu/sim/call.hpp"

namespace tutti::gpu::sim {

/// A call on a communicator. False: it must not be carried out, and `error` says what the caller gets.
class nccl_call : public call {
public:
    enum class use { operation, question, poll, ending };
    nccl_call(const char* name, ncclComm_t handle, use how);

    explicit operator bool() const { return error_ == ncclSuccess; }
    ncclResult_t error() const { return error_; }
    communicator& comm() const { return *comm_; }
    std::string comm_name() const;
    ncclResult_t wrong(ncclResult_t code, const std::string& what);

private:
    void check_issuer(use how);
    void check_state(use how);

    communicator* comm_ = nullptr;
    ncclResult_t error_ = ncclSuccess;
};

}  // namespace tutti::gpu::sim
