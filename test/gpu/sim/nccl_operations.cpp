// Collectives, messages and operators: arguments are checked, then the call waits for its group.
#include "gpu/sim/nccl_call.hpp"
#include "gpu/sim/small_float.hpp"

#include <tutti/types.hpp>

#include <cstring>

using namespace tutti::gpu::sim;

namespace {

constexpr int first_with_small_floats = 22403;
constexpr int capability_for_small_floats = 90;  // to compute with them; any device moves them

CUdeviceptr address_of(const void* where) { return reinterpret_cast<std::uintptr_t>(where); }

bool reduces(nccl_kind kind) { return kind == nccl_kind::all_reduce || kind == nccl_kind::reduce || kind == nccl_kind::reduce_scatter; }

bool has_root(nccl_kind kind) { return kind == nccl_kind::reduce || kind == nccl_kind::broadcast || kind >= nccl_kind::gather; }

// Resolves an operator of the communicator's own.
bool operator_known(nccl_call& here, rank_call& what) {
    if (what.op >= 0 && what.op < ncclNumOps) return true;
    const auto index = static_cast<std::size_t>(what.op - ncclNumOps);
    const auto& own = what.comm->factors;
    if (what.op < 0 || index >= own.size() || what.comm->operators_given_back.contains(index)) {
        here.misuse("on " + here.comm_name() + " with an operator that it does not have");
        return false;
    }
    if (own[index].first != what.type) {
        here.misuse("on " + here.comm_name() + " with an operator made for another type");
        return false;
    }
    what.factor = own[index].second;
    return true;
}

bool memory_fits(nccl_call& here, const rank_call& what) {
    struct side {
        CUdeviceptr address;
        std::size_t elements;
        const char* role;
    };
    for (const side& each : {side{what.from, what.reads(), "source"}, side{what.to, what.writes(), "target"}}) {
        if (!here.reaches(each.address, each.elements * size_of(what.type), each.role)) return false;
        const allocation* const found = each.elements > 0 ? here->memory.find(each.address) : nullptr;
        if (found == nullptr || found->what != allocation::kind::device || found->device == what.comm->home->device) continue;
        here.misuse(std::string("with a ") + each.role + " on device " + std::to_string(found->device) + " for " + here.comm_name() +
                    ", which is on device " + std::to_string(what.comm->home->device));
        return false;
    }
    return true;
}

stream* stream_for(nccl_call& here, CUstream handle) {
    context& home = *here.comm().home;
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        if (home.null_stream == nullptr) home.null_stream = here->make_stream(home, false);
        return home.null_stream;
    }
    stream* const found = here->known_streams.contains(handle) ? reinterpret_cast<stream*>(handle) : nullptr;
    if (found != nullptr && !found->destroyed && found->home == &home) return found;
    here.misuse("on " + here.comm_name() + " with " +
                (found == nullptr || found->destroyed ? std::string("a stream that does not exist") : here->name_of(*found)));
    return nullptr;
}

ncclResult_t operation(rank_call what, ncclComm_t handle, CUstream stream_handle) {
    nccl_call here(name_of(what.kind), handle, nccl_call::use::operation);
    if (!here) return here.error();
    machine::state& on = here.on();
    communicator& comm = here.comm();
    what.comm = &comm;
    if (size_of(what.type) == 0) return here.wrong(ncclInvalidArgument, "with what is no data type");
    if (has_root(what.kind) && (what.root < 0 || what.root >= comm.clique->size))
        return here.wrong(ncclInvalidArgument,
                          "with root or peer " + std::to_string(what.root) + " of " + std::to_string(comm.clique->size) + " ranks");
    if (reduces(what.kind) && !operator_known(here, what)) return ncclInvalidArgument;
    if (is_small_float(what.type) && on.how.nccl_version < first_with_small_floats)
        return here.wrong(ncclInvalidArgument, "of a type that this version does not have");
    if (reduces(what.kind) && is_small_float(what.type) && on.how.capability < capability_for_small_floats)
        return here.wrong(ncclInvalidArgument, "of small floats on a device of capability " + std::to_string(on.how.capability / 10) + "." +
                                                   std::to_string(on.how.capability % 10) + ", and 9.0 is needed");
    if (reduces(what.kind) && is_small_float(what.type) && comm.clique->size == 1 && what.op >= ncclAvg)
        return here.wrong(ncclInvalidArgument, "of small floats by one rank, which scales them in no kernel");
    what.where = stream_for(here, stream_handle);
    if (what.where == nullptr || !memory_fits(here, what)) return ncclInvalidArgument;

    group_part part;
    part.comm = &comm;
    part.where = what.where;
    const bool message = what.kind == nccl_kind::send || what.kind == nccl_kind::recv;
    const bool alone_in_place = comm.clique->size == 1 && !message && what.op < ncclAvg && what.from == what.to;
    if ((what.count > 0 || message) && !alone_in_place) {
        what.number = comm.operations++;
        if (message) part.message = what;
        else part.launch = [&on, what] { on.ranks.enqueue(what); };
    }
    return on.ranks.submit(here, std::move(part));
}

rank_call describe(nccl_kind kind, const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op = ncclSum,
                   int root = -1) {
    rank_call made;
    made.kind = kind;
    made.from = address_of(from);
    made.to = address_of(to);
    made.count = count;
    made.type = type;
    made.op = op;
    made.root = root;
    return made;
}

}  // namespace

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t where) {
    return operation(describe(nccl_kind::all_reduce, from, to, count, type, op), comm, where);
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t where) {
    return operation(describe(nccl_kind::reduce, from, to, count, type, op, root), comm, where);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::broadcast, from, to, count, type, ncclSum, root), comm, where);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::all_gather, from, to, count, type), comm, where);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t where) {
    return operation(describe(nccl_kind::reduce_scatter, from, to, count, type, op), comm, where);
}

ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::all_to_all, from, to, count, type), comm, where);
}

ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::gather, from, to, count, type, ncclSum, root), comm, where);
}

ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::scatter, from, to, count, type, ncclSum, root), comm, where);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::send, from, nullptr, count, type, ncclSum, peer), comm, where);
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t where) {
    return operation(describe(nccl_kind::recv, nullptr, to, count, type, ncclSum, peer), comm, where);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
                                      ncclComm_t handle) {
    nccl_call here("ncclRedOpCreatePreMulSum", handle, nccl_call::use::operation);
    if (!here) return here.error();
    if (!can_scale(type)) return here.wrong(ncclInvalidArgument, "of a type that is not simulated");
    if (residence == ncclScalarDevice && !here.reaches(address_of(scalar), size_of(type), "scalar")) return ncclInvalidArgument;
    const void* const at = residence == ncclScalarDevice ? here->memory.shadow(address_of(scalar)) : scalar;
    here.comm().factors.emplace_back(type, value_of(type, at));
    *op = static_cast<ncclRedOp_t>(static_cast<std::size_t>(ncclNumOps) + here.comm().factors.size() - 1);
    return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle) {
    nccl_call here("ncclRedOpDestroy", handle, nccl_call::use::operation);
    if (!here) return here.error();
    const auto index = static_cast<std::size_t>(op) - static_cast<std::size_t>(ncclNumOps);
    if (op < ncclNumOps || index >= here.comm().factors.size() || !here.comm().operators_given_back.insert(index).second)
        return here.wrong(ncclInvalidArgument, "of an operator that " + here.comm_name() + " does not have");
    return ncclSuccess;
}
