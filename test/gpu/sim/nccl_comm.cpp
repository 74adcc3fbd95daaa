// Communicators from their making to their end.
#include "gpu/sim/nccl_call.hpp"

#include <algorithm>
#include <cstdio>

using namespace tutti::gpu::sim;

namespace {

bool sound(const ncclConfig_t* config) { return config == nullptr || (config->magic == 0xcafebeef && config->size > 0); }

bool blocks(const ncclConfig_t* config, bool otherwise) {
    return config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT ? otherwise : config->blocking != 0;
}

// Returns the error that the ranks find when they meet, if there is one.
ncclResult_t meet(machine::state& on, const clique& all, const communicator& me) {
    const auto failing = on.ranks.failing_inits.find(me.rank);
    if (failing != on.ranks.failing_inits.end()) return failing->second;
    for (const communicator* one : all.members)
        for (const communicator* other : all.members) {
            if (one == other || one->host != other->host || one->home != other->home) continue;
            on.ranks.last_error = "Duplicate GPU detected : rank " + std::to_string(std::min(one->rank, other->rank)) + " and rank " +
                                  std::to_string(std::max(one->rank, other->rank)) + " both on CUDA device " +
                                  std::to_string(one->home->device);
            return ncclInvalidUsage;
        }
    return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
    call here("ncclGetVersion", call::nothing);
    if (!here) return here.nccl_error();
    *version = here->how.nccl_version;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    call here("ncclGetUniqueId", call::nothing);
    if (!here) return here.nccl_error();
    *id = here->ranks.make_id();
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    constexpr const char* texts[] = {"no error",
                                     "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                     "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                     "internal error - please report this issue to the NCCL developers",
                                     "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                     "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                     "remote process exited or there was a network error",
                                     "NCCL operation in progress"};
    return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
    call here("ncclGetLastError", call::nothing);
    return here->ranks.last_error.c_str();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
    call here("ncclCommInitRankConfig");
    if (!here) return here.nccl_error();
    const auto wrong = [&here](const std::string& what) {
        here.misuse(what);
        return ncclInvalidArgument;
    };
    if (!sound(config)) return wrong("with a configuration that NCCL_CONFIG_INITIALIZER has not made");
    if (handle == nullptr || size < 1 || rank < 0 || rank >= size)
        return wrong("as rank " + std::to_string(rank) + " of " + std::to_string(size));
    auto all = here->ranks.clique_of(id, size);
    if (!all) return wrong("with an id that ncclGetUniqueId has not made");
    if (all->size != size) return wrong("for " + std::to_string(size) + " ranks where others say " + std::to_string(all->size));
    if (all->members[static_cast<std::size_t>(rank)] != nullptr)
        return wrong("as rank " + std::to_string(rank) + ", which somebody else is");
    machine::state& on = here.on();
    communicator* const made = on.ranks.make(all, rank, here.home(), blocks(config, true));
    *handle = reinterpret_cast<ncclComm_t>(made);
    on.woken();
    group_part part;
    part.comm = made;
    part.done = [&on, all, made]() -> std::optional<ncclResult_t> {
        if (std::count(all->members.begin(), all->members.end(), nullptr) > 0) return {};
        return meet(on, *all, *made);
    };
    return on.ranks.submit(here, std::move(part));
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
    nccl_call here("ncclCommGetAsyncError", handle, nccl_call::use::poll);
    if (!here) return here.error();
    *error = here->ranks.poll(here.comm()) ? here.comm().state : ncclInProgress;
    if (here.comm().state != ncclSuccess) *error = here.comm().state;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
    nccl_call here("ncclCommFinalize", handle, nccl_call::use::ending);
    if (!here) return here.error();
    communicator& comm = here.comm();
    if (comm.in_progress) return here.wrong(ncclInvalidArgument, "on " + here.comm_name() + " while it is in progress");
    if (comm.finalized) return here.wrong(ncclInvalidArgument, "on " + here.comm_name() + ", which was finalized");
    if (comm.state != ncclSuccess) return comm.state;
    comm.finalized = true;
    machine::state& on = here.on();
    group_part part;
    part.comm = &comm;
    part.done = [&on, &comm]() -> std::optional<ncclResult_t> {
        if (on.ranks.never_finalizing.contains(comm.rank) || !on.ranks.all_ended(comm)) return {};
        return ncclSuccess;
    };
    return on.ranks.submit(here, std::move(part));
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
    nccl_call here("ncclCommDestroy", handle, nccl_call::use::ending);
    if (!here) return here.error();
    communicator& comm = here.comm();
    if (comm.in_progress || comm.state != ncclSuccess) {
        ++here->self().group_depth;  // as the real one: it leaves a group open
        return here.wrong(ncclInvalidArgument, "on " + here.comm_name() +
                                                   (comm.in_progress ? " while it is in progress" : ", which has failed") +
                                                   ": this thread's calls now wait for the end of a group");
    }
    here.waits();
    const bool ended = here->wait(here.lock(), here.name() + " of " + here.comm_name(),
                                  [&] { return comm.home->fault != CUDA_SUCCESS || here->ranks.all_ended(comm); });
    comm.gone = true;
    return comm.home->fault != CUDA_SUCCESS ? ncclUnhandledCudaError : ended ? ncclSuccess : ncclInternalError;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
    nccl_call here("ncclCommAbort", handle, nccl_call::use::ending);
    if (!here) return here.error();
    communicator& comm = here.comm();
    here.waits();
    here->ranks.drop_queued(comm);
    for (stream* each : comm.claimed)
        if (each->claimed_by == &comm) each->claimed_by = nullptr;
    comm.in_progress = false;
    comm.parts.clear();
    here->wait(here.lock(), here.name() + " of " + here.comm_name(), [&] {
        return comm.home->fault != CUDA_SUCCESS || std::all_of(comm.queued.begin(), comm.queued.end(), [](const auto& each) {
                   return each->ending->done || each->now == work::phase::waiting;
               });
    });
    here->drain(here.lock(), here.name() + " of " + here.comm_name(), *comm.home);  // it frees memory
    comm.gone = true;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int* count) {
    nccl_call here("ncclCommCount", handle, nccl_call::use::question);
    if (here) *count = here.comm().clique->size;
    return here.error();
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int* rank) {
    nccl_call here("ncclCommUserRank", handle, nccl_call::use::question);
    if (here) *rank = here.comm().rank;
    return here.error();
}

ncclResult_t ncclCommCuDevice(const ncclComm_t handle, int* device) {
    nccl_call here("ncclCommCuDevice", handle, nccl_call::use::question);
    if (here) *device = here.comm().home->device;
    return here.error();
}
