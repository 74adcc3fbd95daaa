#include "gpu/sim/nccl_call.hpp"

namespace tutti::gpu::sim {

nccl_call::nccl_call(const char* name, ncclComm_t handle, use how) : call(name, nothing, handle), comm_(on().ranks.find(handle)) {
    if (!call::operator bool()) {
        error_ = nccl_error();
    } else if (comm_ == nullptr || comm_->gone) {
        misuse(comm_ ? "on " + comm_name() + ", which is gone" : "on what is no communicator");
        error_ = ncclInvalidArgument;
    } else {
        check_issuer(how);
        check_state(how);
    }
}

std::string nccl_call::comm_name() const { return on().ranks.name_of(comm_); }

ncclResult_t nccl_call::wrong(ncclResult_t code, const std::string& what) {
    misuse(what);
    on().ranks.last_error = name() + " " + what;
    return code;
}

// NCCL is not safe for two threads on one device, even with different communicators.
void nccl_call::check_issuer(use how) {
    const auto me = std::this_thread::get_id();
    if (how == use::ending) {
        comm_->issuer = me;
        return;
    }
    if (how == use::question) return;
    if (comm_->issuer && *comm_->issuer != me)
        misuse("on " + comm_name() + ", which " + on().thread_name(*comm_->issuer) + " issues on: it was not handed over");
    if (how == use::poll) return;
    const auto [found, first] = on().ranks.issuers.try_emplace({comm_->host, comm_->home->device}, me);
    if (!first && found->second != me && (!comm_->issuer || *comm_->issuer == me))
        misuse("on " + comm_name() + " while " + on().thread_name(found->second) + " issues on device " +
               std::to_string(comm_->home->device) + ", too: NCCL wants one thread for each device");
    found->second = me;
    comm_->issuer = me;
}

void nccl_call::check_state(use how) {
    if (how == use::poll || how == use::ending) return;
    if (comm_->in_progress) {
        error_ = wrong(ncclInvalidArgument, "on " + comm_name() + " while it is in progress");
        if (how == use::operation) comm_->state = ncclInvalidArgument;  // as the real one: it stays so
        return;
    }
    error_ = comm_->home->fault != CUDA_SUCCESS ? ncclUnhandledCudaError : comm_->state;
    if (error_ == ncclSuccess && comm_->finalized) error_ = wrong(ncclInvalidUsage, "on " + comm_name() + ", which was finalized");
}

}  // namespace tutti::gpu::sim
