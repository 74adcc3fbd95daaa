#include "mpi_call.hpp"

#include "support/matrix.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <numeric>

namespace tutti::test {
namespace {

void multiply_all(void* left, void* inout, int* count, MPI_Datatype*) {
    const auto* const first = static_cast<const matrix*>(left);
    auto* const second = static_cast<matrix*>(inout);
    for (int index = 0; index < *count; ++index) second[index] = multiply(first[index], second[index]);
}

MPI_Datatype number_type(data_type type) {
    switch (type) {
        case data_type::f32: return MPI_FLOAT;
        case data_type::f64: return MPI_DOUBLE;
        case data_type::i8: return MPI_INT8_T;
        case data_type::u8: return MPI_UINT8_T;
        case data_type::i16: return MPI_INT16_T;
        case data_type::u16: return MPI_UINT16_T;
        case data_type::i32: return MPI_INT32_T;
        case data_type::u32: return MPI_UINT32_T;
        case data_type::i64: return MPI_INT64_T;
        case data_type::u64: return MPI_UINT64_T;
        case data_type::boolean: return MPI_CXX_BOOL;
        case data_type::cf32: return MPI_CXX_FLOAT_COMPLEX;
        case data_type::cf64: return MPI_CXX_DOUBLE_COMPLEX;
        case data_type::f16:  // MPI has no such types
        case data_type::bf16:
        case data_type::opaque: break;
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op number_op(reduce_op op, data_type type) {
    const bool truth = type == data_type::boolean;
    switch (op) {
        case reduce_op::sum: return truth ? MPI_LOR : MPI_SUM;
        case reduce_op::prod: return truth ? MPI_LAND : MPI_PROD;
        case reduce_op::min: return truth ? MPI_LAND : MPI_MIN;
        case reduce_op::max: return truth ? MPI_LOR : MPI_MAX;
        case reduce_op::band: return truth ? MPI_LAND : MPI_BAND;
        case reduce_op::bor: return truth ? MPI_LOR : MPI_BOR;
        case reduce_op::bxor: return truth ? MPI_LXOR : MPI_BXOR;
        case reduce_op::avg:  // MPI has no such operators
        case reduce_op::premul:
        case reduce_op::custom: break;
    }
    return MPI_OP_NULL;
}

/// Type and operator of one call, and what of them must be freed.
class vocabulary {
public:
    explicit vocabulary(const call& what) : own_type_(!reduces(what.kind) || what.op.user()), own_op_(what.op.user() != nullptr) {
        type = number_type(what.type);
        op = number_op(what.op.kind(), what.type);
        if (own_type_) {
            MPI_Type_contiguous(static_cast<int>(what.element_bytes()), MPI_BYTE, &type);
            MPI_Type_commit(&type);
        }
        if (own_op_) MPI_Op_create(multiply_all, 0, &op);
    }
    vocabulary(const vocabulary&) = delete;
    vocabulary& operator=(const vocabulary&) = delete;
    ~vocabulary() {
        if (own_type_) MPI_Type_free(&type);
        if (own_op_) MPI_Op_free(&op);
    }

    MPI_Datatype type;
    MPI_Op op;

private:
    bool own_type_, own_op_;
};

std::vector<int> ints(const std::vector<std::size_t>& counts) { return {counts.begin(), counts.end()}; }
std::vector<int> starts(const std::vector<int>& counts) {
    std::vector<int> all(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), all.begin(), 0);
    return all;
}

void reduce_through(const call& what, const vocabulary& in, const oracle& truth, rank me, const void* from, void* to) {
    const MPI_Comm all = MPI_COMM_WORLD;
    const int count = static_cast<int>(what.count);
    switch (what.kind) {
        case collective::all_reduce: MPI_Allreduce(from, to, count, in.type, in.op, all); break;
        case collective::reduce: MPI_Reduce(from, to, count, in.type, in.op, what.root, all); break;
        case collective::reduce_scatter: MPI_Reduce_scatter_block(from, to, count, in.type, in.op, all); break;
        case collective::reduce_scatter_v: MPI_Reduce_scatter(from, to, ints(truth.counts(me)).data(), in.type, in.op, all); break;
        case collective::scan: MPI_Scan(from, to, count, in.type, in.op, all); break;
        default: MPI_Exscan(from, to, count, in.type, in.op, all); break;
    }
}

void move_through(const call& what, const vocabulary& in, const oracle& truth, rank me, const void* from, void* to) {
    const MPI_Comm all = MPI_COMM_WORLD;
    const int count = static_cast<int>(what.count);
    const std::vector<int> counts = ints(truth.counts(me)), recv_counts = ints(truth.recv_counts(me));
    const std::vector<int> begins = starts(counts), recv_begins = starts(recv_counts);
    const int mine = counts[static_cast<std::size_t>(me)];
    const MPI_Datatype type = in.type;
    switch (what.kind) {
        case collective::broadcast: MPI_Bcast(to, count, type, what.root, all); break;
        case collective::all_gather: MPI_Allgather(from, count, type, to, count, type, all); break;
        case collective::gather: MPI_Gather(from, count, type, to, count, type, what.root, all); break;
        case collective::scatter: MPI_Scatter(from, count, type, to, count, type, what.root, all); break;
        case collective::all_to_all: MPI_Alltoall(from, count, type, to, count, type, all); break;
        case collective::all_gather_v: MPI_Allgatherv(from, mine, type, to, counts.data(), begins.data(), type, all); break;
        case collective::gather_v: MPI_Gatherv(from, mine, type, to, counts.data(), begins.data(), type, what.root, all); break;
        case collective::scatter_v: MPI_Scatterv(from, counts.data(), begins.data(), type, to, mine, type, what.root, all); break;
        case collective::all_to_all_v:
            MPI_Alltoallv(from, counts.data(), begins.data(), type, to, recv_counts.data(), recv_begins.data(), type, all);
            break;
        default: MPI_Barrier(all); break;
    }
}

}  // namespace

bool in_mpi(const call& what) {
    if (!reduces(what.kind) || what.op.user()) return true;
    return number_type(what.type) != MPI_DATATYPE_NULL && number_op(what.op.kind(), what.type) != MPI_OP_NULL;
}

std::optional<byte_vector> through_mpi(const call& what, const oracle& truth, rank me) {
    const vocabulary in(what);
    byte_vector from = truth.input(me), to(truth.output_count(me) * what.element_bytes());
    if (what.kind == collective::broadcast && me == what.root) to = from;
    from.resize(from.size() + 1);  // so that there is an address
    to.resize(to.size() + 1);
    if (reduces(what.kind)) reduce_through(what, in, truth, me, from.data(), to.data());
    else move_through(what, in, truth, me, from.data(), to.data());
    to.pop_back();
    if (what.kind == collective::exclusive_scan && me == 0) return std::nullopt;
    if (what.kind == collective::reduce && me != what.root) to.clear();
    return to;
}

}  // namespace tutti::test
