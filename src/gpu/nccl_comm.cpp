#include "gpu/nccl_comm.hpp"

#include "gpu/nccl_birth.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

using state = nccl_comm::state;

failure nccl_comm::failed(std::string_view call, ncclResult_t code) const {
    const char* more = nccl_.ncclGetLastError(handle_);
    std::string words = fmt::format("{}: {}", call, nccl_.ncclGetErrorString(code));
    if (more && *more) words += fmt::format(" ({})", more);
    return failure(error_of(code), std::move(words));
}

state nccl_comm::began(std::string_view call, ncclResult_t code) {
    if (code == ncclInProgress) return state::in_progress;
    if (code == ncclSuccess) return state::ready;
    why_ = failed(call, code);
    return state::failed;
}

namespace {

ncclConfig_t not_blocking() {
    ncclConfig_t how = NCCL_CONFIG_INITIALIZER;
    how.blocking = 0;
    return how;
}

}  // namespace

state nccl_comm::adopt(ncclComm_t made, int size, int me) {
    handle_ = made;
    size_ = size;
    me_ = me;
    return ask();
}

/// NCCL returns success when a split or shrink has only begun. Until this communicator is ready, it is in progress and the child does not exist.
state nccl_comm::bear(nccl_birth& what) {
    ncclConfig_t how = not_blocking();
    const int left_out = static_cast<int>(what.without.size());
    const state is =
        left_out == 0
            ? began("ncclCommSplit", nccl_.ncclCommSplit(handle_, what.color, what.key, &what.made, &how))
            : began("ncclCommShrink", nccl_.ncclCommShrink(handle_, what.without.data(), left_out, &what.made, &how, NCCL_SHRINK_DEFAULT));
    return is == state::ready ? ask() : is;
}

state nccl_comm::initialize(const ncclUniqueId& id, int size, int me) {
    ncclConfig_t how = not_blocking();
    size_ = size;
    me_ = me;
    return began("ncclCommInitRankConfig", nccl_.ncclCommInitRankConfig(&handle_, size, id, me, &how));
}

state nccl_comm::ask() {
    ncclResult_t now = ncclSuccess;
    ncclResult_t code = nccl_.ncclCommGetAsyncError(handle_, &now);
    if (code == ncclSuccess) code = now;
    const state is = began("NCCL", code);
    if (is == state::ready) give_back_operator();
    return is;
}

state nccl_comm::finalize() { return began("ncclCommFinalize", nccl_.ncclCommFinalize(handle_)); }

result<> nccl_comm::destroy() {
    const ncclResult_t code = nccl_.ncclCommDestroy(std::exchange(handle_, nullptr));
    if (code != ncclSuccess) return failed("ncclCommDestroy", code);
    return {};
}

result<> nccl_comm::abort() {
    const ncclResult_t code = nccl_.ncclCommAbort(std::exchange(handle_, nullptr));
    if (code != ncclSuccess) return failed("ncclCommAbort", code);
    return {};
}

// ---- operations

/// NCCL reads the operator until the call is no longer in progress.
void nccl_comm::give_back_operator() {
    if (own_operator_) nccl_.ncclRedOpDestroy(*own_operator_, handle_);
    own_operator_.reset();
}

state nccl_comm::issue(const device_request& what, CUstream where) {
    if (what.born) return bear(*what.born);
    ncclRedOp_t op = nccl_op(what.op.kind(), what.type, size_);
    if (reduces(what.kind) && what.op.kind() == reduce_op::premul) {
        nccl_scalar factor = scalar_of(what.type, what.op.factor());
        const ncclResult_t code = nccl_.ncclRedOpCreatePreMulSum(&op, factor.bytes, moved_as(what.type, size_of(what.type)).type,
                                                                 ncclScalarHostImmediate, handle_);
        if (code != ncclSuccess) {  // in progress would be none: the collective has not been called
            why_ = failed("ncclRedOpCreatePreMulSum", code);
            return state::failed;
        }
        own_operator_ = op;
    }
    const state is = began(name(what.kind), call(what, where, op));
    if (is == state::ready) give_back_operator();
    return is;
}

namespace {

const std::byte* at(const void* memory, std::size_t bytes) noexcept { return static_cast<const std::byte*>(memory) + bytes; }
std::byte* at(void* memory, std::size_t bytes) noexcept { return static_cast<std::byte*>(memory) + bytes; }

ncclDataType_t reduced_as(device_type type) noexcept {
    if (type == device_type::e4m3) return ncclFloat8e4m3;
    if (type == device_type::e5m2) return ncclFloat8e5m2;
    return moved_as(type, size_of(type)).type;
}

}  // namespace

ncclResult_t nccl_comm::call(const device_request& what, CUstream where, ncclRedOp_t op) {
    if (what.kind == device_collective::exchange) return exchange(what, where);
    if (what.listed) return call_list(what, where, op);
    const ncclDataType_t type = reduced_as(what.type);
    switch (what.kind) {
        case device_collective::barrier:
        case device_collective::all_reduce: return nccl_.ncclAllReduce(what.from, what.to, what.count, type, op, handle_, where);
        case device_collective::reduce: return nccl_.ncclReduce(what.from, what.to, what.count, type, op, what.root, handle_, where);
        case device_collective::reduce_scatter: return nccl_.ncclReduceScatter(what.from, what.to, what.count, type, op, handle_, where);
        default: return call_moving(what, where);
    }
}

ncclResult_t nccl_comm::call_moving(const device_request& what, CUstream where) {
    const auto [type, each] = moved_as(what.type, what.element_bytes());
    const std::size_t count = what.count * each;
    switch (what.kind) {
        case device_collective::broadcast: return nccl_.ncclBroadcast(what.from, what.to, count, type, what.root, handle_, where);
        case device_collective::all_gather: return nccl_.ncclAllGather(what.from, what.to, count, type, handle_, where);
        case device_collective::all_to_all:
            if (nccl_.ncclAlltoAll) return nccl_.ncclAlltoAll(what.from, what.to, count, type, handle_, where);
            break;
        case device_collective::gather:
            if (nccl_.ncclGather) return nccl_.ncclGather(what.from, what.to, count, type, what.root, handle_, where);
            break;
        default:
            if (nccl_.ncclScatter) return nccl_.ncclScatter(what.from, what.to, count, type, what.root, handle_, where);
            break;
    }
    return by_messages(what, where);
}

namespace {

/// The first error of the calls between a group's two ends. The end is called whatever went wrong, or the thread's next calls would wait for it.
class grouped {
public:
    explicit grouped(const nccl_table& nccl) : nccl_(nccl), first_(nccl.ncclGroupStart()), begun_(first_ == ncclSuccess) {}
    void add(ncclResult_t code) noexcept {
        if (first_ == ncclSuccess && code != ncclInProgress) first_ = code;
    }
    ncclResult_t end() {
        if (!begun_) return first_;
        const ncclResult_t code = nccl_.ncclGroupEnd();
        return first_ == ncclSuccess ? code : first_;
    }

private:
    const nccl_table& nccl_;
    ncclResult_t first_;
    bool begun_;
};

}  // namespace

ncclResult_t nccl_comm::call_list(const device_request& what, CUstream where, ncclRedOp_t op) {
    grouped all(nccl_);
    for (const request_part& each : what.parts)
        if (each.count > 0) all.add(nccl_.ncclAllReduce(each.to, each.to, each.count, reduced_as(what.type), op, handle_, where));
    return all.end();
}

ncclResult_t nccl_comm::exchange(const device_request& what, CUstream where) {
    grouped all(nccl_);
    for (const request_part& part : what.parts) {
        const auto [type, each] = moved_as(part.type, part.type == device_type::opaque ? part.opaque_bytes : size_of(part.type));
        if (part.count == 0) continue;
        if (part.from) all.add(nccl_.ncclSend(part.from, part.count * each, type, part.peer, handle_, where));
        else all.add(nccl_.ncclRecv(part.to, part.count * each, type, part.peer, handle_, where));
    }
    return all.end();
}

/// Carries out by messages the collectives for which only newer versions have calls.
ncclResult_t nccl_comm::by_messages(const device_request& what, CUstream where) {
    const auto [type, each] = moved_as(what.type, what.element_bytes());
    const std::size_t count = what.count * each, bytes = what.count * what.element_bytes();
    const bool to_all = what.kind == device_collective::all_to_all || (what.kind == device_collective::scatter && what.root == me_);
    const bool from_all = what.kind == device_collective::all_to_all || (what.kind == device_collective::gather && what.root == me_);
    grouped all(nccl_);
    for (rank peer = 0; peer < size_; ++peer) {
        const std::size_t offset = static_cast<std::size_t>(peer) * bytes;
        if (to_all) all.add(nccl_.ncclSend(at(what.from, offset), count, type, peer, handle_, where));
        else if (what.kind == device_collective::gather && peer == what.root)
            all.add(nccl_.ncclSend(what.from, count, type, peer, handle_, where));
        if (from_all) all.add(nccl_.ncclRecv(at(what.to, offset), count, type, peer, handle_, where));
        else if (what.kind == device_collective::scatter && peer == what.root)
            all.add(nccl_.ncclRecv(what.to, count, type, peer, handle_, where));
    }
    return all.end();
}

}  // namespace tutti::gpu
