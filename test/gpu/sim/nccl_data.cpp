// The effect of collectives on memory: contributions are folded in the order of ranks.
#include "gpu/sim/small_float.hpp"
#include "gpu/sim/state.hpp"

#include "reduce/scalar.hpp"
#include "reduce/visit.hpp"

#include <cstring>

namespace tutti::gpu::sim {
namespace {

using bytes = std::vector<std::byte>;

data_type type_of(ncclDataType_t type) {
    switch (type) {
        case ncclInt8: return data_type::i8;
        case ncclUint8: return data_type::u8;
        case ncclInt32: return data_type::i32;
        case ncclUint32: return data_type::u32;
        case ncclInt64: return data_type::i64;
        case ncclUint64: return data_type::u64;
        case ncclFloat16: return data_type::f16;
        case ncclFloat32: return data_type::f32;
        case ncclFloat64: return data_type::f64;
        case ncclBfloat16: return data_type::bf16;
        default: return data_type::opaque;
    }
}

reduce_op op_of(ncclRedOp_t op) {
    switch (op) {
        case ncclProd: return reduce_op::prod;
        case ncclMax: return reduce_op::max;
        case ncclMin: return reduce_op::min;
        default: return reduce_op::sum;
    }
}

void scale(data_type type, bytes& data, std::size_t count, double factor) {
    if (is_floating(type)) {
        scale_scalar(type, data.data(), data.data(), count, factor);
        return;
    }
    visit_numbers(type, [&]<class T> {
        if constexpr (std::integral<T>) {
            T* const all = reinterpret_cast<T*>(data.data());
            for (std::size_t index = 0; index < count; ++index)
                all[index] =
                    static_cast<T>(static_cast<std::uint64_t>(all[index]) * static_cast<std::uint64_t>(static_cast<std::int64_t>(factor)));
        }
    });
}

/// The memory of one meeting's ranks.
class mover {
public:
    mover(memory& memory, const meeting& what) : memory_(memory), what_(what), element_(size_of(what.calls[0]->type)) {}

    const rank_call& call(std::size_t rank) const { return *what_.calls[rank]; }
    std::size_t size() const { return what_.calls.size(); }
    bytes read(std::size_t rank, std::size_t first, std::size_t count) {
        if (count == 0) return {};
        const std::byte* const from = memory_.shadow(call(rank).from) + first * element_;
        return bytes(from, from + count * element_);
    }
    void write(std::size_t rank, std::size_t first, const bytes& data) {
        if (!data.empty()) std::memcpy(memory_.shadow(call(rank).to) + first * element_, data.data(), data.size());
    }
    bytes fold(std::size_t count) {
        if (is_small_float(call(0).type)) return fold_small_floats(count);
        const data_type type = type_of(call(0).type);
        bytes all = contribution(0, count);
        for (std::size_t rank = 1; rank < size(); ++rank)
            combine_scalar(op_of(call(rank).op), type, all.data(), all.data(), contribution(rank, count).data(), count);
        if (call(0).op == ncclAvg && !is_floating(type)) divide_scalar(type, all.data(), count, static_cast<int>(size()));
        return all;
    }

private:
    // The real one multiplies floating numbers before it adds, for averages too.
    bytes contribution(std::size_t rank, std::size_t count) {
        bytes mine = read(rank, 0, count);
        const data_type type = type_of(call(rank).type);
        if (call(rank).factor) scale(type, mine, count, *call(rank).factor);
        if (call(rank).op == ncclAvg && is_floating(type)) scale(type, mine, count, 1.0 / static_cast<double>(size()));
        return mine;
    }

    bytes fold_small_floats(std::size_t count) {
        const ncclDataType_t type = call(0).type;
        const auto rounded = [type](float value) { return small_float_value(type, small_float_bits(type, value)); };
        std::vector<float> all;
        for (std::size_t rank = 0; rank < size(); ++rank) {
            std::vector<float> mine;
            for (const std::byte each : read(rank, 0, count)) mine.push_back(small_float_value(type, static_cast<std::uint8_t>(each)));
            if (call(rank).op == ncclAvg)
                for (float& each : mine) each = rounded(each / static_cast<float>(size()));
            if (rank == 0) all = mine;
            else combine_scalar(op_of(call(rank).op), data_type::f32, all.data(), all.data(), mine.data(), count);
            for (float& each : all) each = rounded(each);
        }
        bytes packed;
        for (const float each : all) packed.push_back(static_cast<std::byte>(small_float_bits(type, each)));
        return packed;
    }

    memory& memory_;
    const meeting& what_;
    std::size_t element_;
};

}  // namespace

std::size_t size_of(ncclDataType_t type) {
    if (is_small_float(type)) return 1;
    return tutti::size_of(type_of(type));
}

bool can_scale(ncclDataType_t type) { return type_of(type) != data_type::opaque; }

double value_of(ncclDataType_t type, const void* at) {
    double value = 0;
    visit_numbers(type_of(type), [&]<class T> {
        T one;
        std::memcpy(&one, at, sizeof one);
        if constexpr (std::is_arithmetic_v<T>) value = static_cast<double>(one);
        else value = static_cast<double>(static_cast<float>(one));
    });
    return value;
}

void move_data(machine& on, const meeting& what) {
    mover move(on.inner().memory, what);
    const std::size_t size = move.size(), count = move.call(0).count;
    const auto root = static_cast<std::size_t>(move.call(0).root);
    std::vector<bytes> out(size);
    switch (move.call(0).kind) {
        case nccl_kind::all_reduce: out.assign(size, move.fold(count)); break;
        case nccl_kind::reduce: out[root] = move.fold(count); break;
        case nccl_kind::reduce_scatter: {
            const bytes all = move.fold(size * count);
            const auto step = static_cast<std::ptrdiff_t>(all.size() / size);
            for (std::size_t rank = 0; rank < size; ++rank) {
                const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank) * step;
                out[rank].assign(first, first + step);
            }
            break;
        }
        case nccl_kind::broadcast: out.assign(size, move.read(root, 0, count)); break;
        case nccl_kind::scatter:
            for (std::size_t rank = 0; rank < size; ++rank) out[rank] = move.read(root, rank * count, count);
            break;
        case nccl_kind::send:
        case nccl_kind::recv: out[1] = move.read(0, 0, count); break;
        default:  // all_gather, gather, all_to_all
            for (std::size_t rank = 0; rank < size; ++rank) {
                if (move.call(0).kind == nccl_kind::gather && rank != root) continue;
                for (std::size_t from = 0; from < size; ++from) {
                    const bytes one = move.read(from, move.call(0).kind == nccl_kind::all_to_all ? rank * count : 0, count);
                    out[rank].insert(out[rank].end(), one.begin(), one.end());
                }
            }
    }
    for (std::size_t rank = 0; rank < size; ++rank) move.write(rank, 0, out[rank]);
}

}  // namespace tutti::gpu::sim
