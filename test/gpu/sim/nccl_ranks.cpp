#include "gpu/sim/nccl_ranks.hpp"

#include "gpu/sim/machine.hpp"
#include "gpu/sim/state.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::gpu::sim {

const char* name_of(nccl_kind kind) {
    constexpr const char* names[] = {"ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter",
                                     "ncclAlltoAll",  "ncclGather", "ncclScatter",   "ncclSend",      "ncclRecv"};
    return names[static_cast<int>(kind)];
}

std::size_t rank_call::reads() const {
    const auto size = static_cast<std::size_t>(comm->clique->size);
    const bool at_root = comm->rank == root;
    switch (kind) {
        case nccl_kind::all_to_all:
        case nccl_kind::reduce_scatter: return size * count;
        case nccl_kind::broadcast: return at_root ? count : 0;
        case nccl_kind::scatter: return at_root ? size * count : 0;
        case nccl_kind::recv: return 0;
        default: return count;
    }
}

std::size_t rank_call::writes() const {
    const auto size = static_cast<std::size_t>(comm->clique->size);
    const bool at_root = comm->rank == root;
    switch (kind) {
        case nccl_kind::all_gather:
        case nccl_kind::all_to_all: return size * count;
        case nccl_kind::gather: return at_root ? size * count : 0;
        case nccl_kind::reduce: return at_root ? count : 0;
        case nccl_kind::send: return 0;
        default: return count;
    }
}

ncclUniqueId nccl_ranks::make_id() {
    ncclUniqueId made{};
    const std::string text = "simulated clique " + std::to_string(by_id_.size());
    std::memcpy(made.internal, text.data(), text.size());
    by_id_[text] = nullptr;
    return made;
}

std::shared_ptr<clique> nccl_ranks::clique_of(const ncclUniqueId& id, int size) {
    const auto found = by_id_.find(std::string(id.internal, strnlen(id.internal, sizeof id.internal)));
    if (found == by_id_.end()) return nullptr;
    if (!found->second) found->second = make_clique(size);
    return found->second;
}

std::shared_ptr<clique> nccl_ranks::make_clique(int size) {
    auto made = std::make_shared<clique>();
    made->number = cliques_++;
    made->size = size;
    made->members.resize(static_cast<std::size_t>(size));
    return made;
}

communicator* nccl_ranks::make(std::shared_ptr<clique> of, int rank, context& home, bool blocking) {
    auto made = std::make_unique<communicator>();
    made->clique = std::move(of);
    made->rank = rank;
    made->home = &home;
    made->blocking = blocking;
    made->host = owner_.inner().self().host;
    made->clique->members[static_cast<std::size_t>(rank)] = made.get();
    all_.push_back(std::move(made));
    return all_.back().get();
}

communicator* nccl_ranks::find(ncclComm_t handle) const {
    for (const auto& each : all_)
        if (reinterpret_cast<ncclComm_t>(each.get()) == handle) return each.get();
    return nullptr;
}

std::string nccl_ranks::name_of(const void* comm) const {
    for (const auto& each : all_)
        if (each.get() == comm) return "rank " + std::to_string(each->rank) + " of communicator " + std::to_string(each->clique->number);
    return "what is no communicator";
}

std::vector<std::string> nccl_ranks::leaks() const {
    std::vector<std::string> names;
    for (const auto& each : all_)
        if (!each->gone) names.push_back(name_of(each.get()));
    return names;
}

bool nccl_ranks::all_ended(const communicator& of) const {
    return std::all_of(of.queued.begin(), of.queued.end(), [](const auto& each) { return each->ending->done; });
}

// Kernels see the abort flag and leave; what they had moved is anybody's guess, so nothing is.
void nccl_ranks::drop_queued(communicator& of) {
    for (const auto& each : of.queued) each->dropped = true;
    for (auto& [number, at] : of.clique->collectives)
        if (at->calls[static_cast<std::size_t>(of.rank)] && !at->moved) at->never = true;
    for (auto& [ends, pipe] : of.clique->pipes)
        for (const auto& at : pipe.all)
            if ((ends.first == of.rank || ends.second == of.rank) && !at->moved) at->never = true;
    owner_.inner().woken();
}

void machine::fail_operation(int rank, std::uint64_t number, ncclResult_t code) {
    const machine_lock lock(state_->guard);
    state_->ranks.operation_faults.push_back({rank, number, code});
}

void machine::hang_operation(int rank, std::uint64_t number) { fail_operation(rank, number, ncclSuccess); }

void machine::slow_rank(int rank, duration length) {
    const machine_lock lock(state_->guard);
    state_->ranks.slow_ranks[rank] = length;
}

void machine::fail_init(int rank, ncclResult_t code) {
    const machine_lock lock(state_->guard);
    state_->ranks.failing_inits[rank] = code;
}

void machine::never_finalize(int rank) {
    const machine_lock lock(state_->guard);
    state_->ranks.never_finalizing.insert(rank);
}

void machine::polls(int times) {
    const machine_lock lock(state_->guard);
    state_->ranks.polls = times;
}

void machine::host(std::string name) {
    const machine_lock lock(state_->guard);
    state_->self().host = std::move(name);
}

void machine::hand_over(ncclComm_t handle) {
    const machine_lock lock(state_->guard);
    communicator* const comm = state_->ranks.find(handle);
    if (comm == nullptr) return;
    comm->issuer.reset();
    state_->ranks.issuers.erase({comm->host, comm->home->device});
}

}  // namespace tutti::gpu::sim
