#include "bare_nccl.hpp"

#include "gpu/nccl_types.hpp"
#include "gpu/on_device.hpp"

#include <fmt/format.h>

#include <deque>

namespace gpu_bench {
namespace {

using namespace tutti;

/// Events in a ring, one behind each operation that is on the stream.
class events_behind {
public:
    events_behind(gpu::device_state& where, CUstream stream) : where_(where), stream_(stream) {}
    ~events_behind() {
        for (const CUevent each : out_) where_.events().give(each);
    }
    void record() {
        CUevent made = nullptr;
        demand("cuEventCreate", where_.events().take(made));
        out_.push_back(made);
        demand("cuEventRecord", where_.driver().cuEventRecord(made, stream_));
    }
    void wait_for_first() {
        demand("cuEventSynchronize", where_.driver().cuEventSynchronize(out_.front()));
        where_.events().give(out_.front());
        out_.pop_front();
    }
    std::size_t count() const noexcept { return out_.size(); }

private:
    void demand(const char* call, CUresult code) {
        if (code != CUDA_SUCCESS) throw where_.failed(call, code);
    }

    gpu::device_state& where_;
    const CUstream stream_;
    std::deque<CUevent> out_;
};

}  // namespace

bare_nccl::bare_nccl(gpu::device_state& where, const gpu::nccl_table& nccl, const ncclUniqueId& id, int size, int me, bool blocking,
                     CUstream stream)
    : where_(where),
      nccl_(nccl),
      stream_(stream) {
    const gpu::on_device here(where.driver(), where.context());
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    settle("ncclCommInitRankConfig", nccl.ncclCommInitRankConfig(&comm_, size, id, me, &config));
}

bare_nccl::~bare_nccl() {
    const gpu::on_device here(where_.driver(), where_.context());
    if (comm_ == nullptr) return;
    try {
        settle("ncclCommFinalize", nccl_.ncclCommFinalize(comm_));
        nccl_.ncclCommDestroy(comm_);
    } catch (const failure&) {
        nccl_.ncclCommAbort(comm_);
    }
}

void bare_nccl::settle(const char* call, ncclResult_t code) {
    while (code == ncclInProgress)
        if (const ncclResult_t asked = nccl_.ncclCommGetAsyncError(comm_, &code); asked != ncclSuccess) code = asked;
    if (code != ncclSuccess) throw failure(gpu::error_of(code), fmt::format("{}: {}", call, nccl_.ncclGetErrorString(code)));
}

void bare_nccl::enqueue(const float* from, float* to, std::size_t count, scaling op) {
    ncclRedOp_t made = ncclAvg;
    if (op == scaling::premul_sum) {
        if (nccl_.ncclRedOpCreatePreMulSum == nullptr || nccl_.ncclRedOpDestroy == nullptr)
            throw failure(error::unsupported, "this NCCL makes no operators: it lacks ncclRedOpCreatePreMulSum");
        float factor = premul_factor;
        settle("ncclRedOpCreatePreMulSum", nccl_.ncclRedOpCreatePreMulSum(&made, &factor, ncclFloat32, ncclScalarHostImmediate, comm_));
    }
    settle("ncclAllReduce", nccl_.ncclAllReduce(from, to, count, ncclFloat32, made, comm_, stream_));
    if (op == scaling::premul_sum) settle("ncclRedOpDestroy", nccl_.ncclRedOpDestroy(made, comm_));
}

void bare_nccl::all_reduce(const float* from, float* to, std::size_t count, scaling op, int times, int window) {
    const gpu::on_device here(where_.driver(), where_.context());
    events_behind pending(where_, stream_);
    for (int i = 0; i < times; ++i) {
        if (pending.count() == static_cast<std::size_t>(window)) pending.wait_for_first();
        enqueue(from, to, count, op);
        pending.record();
    }
    while (pending.count() > 0) pending.wait_for_first();
}

}  // namespace gpu_bench
