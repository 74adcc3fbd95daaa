// A collective of a gpu::communicator as a test describes it, on ranks of any kind.
#pragma once

#include "support/oracle.hpp"

#include <tutti/gpu.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tutti::test {

inline constexpr collective device_kinds[] = {collective::all_reduce, collective::reduce,         collective::broadcast,
                                              collective::all_gather, collective::reduce_scatter, collective::all_to_all,
                                              collective::gather,     collective::scatter};

struct device_call {
    call what;
    bool in_place = false;
};

/// With a buffer for the input and one for the output, and where there may be one for both, with that, too.
inline void add_ways(std::vector<device_call>& list, device_call one) {
    list.push_back(one);
    one.in_place = one.what.kind == collective::all_reduce || one.what.kind == collective::reduce;
    if (one.in_place) list.push_back(one);
}

/// Returns whether NCCL combines such elements.
inline bool reduced_by_nccl(data_type type, const reduction& op) {
    if (!defined(op.kind(), type) || op == band || op == bor || op == bxor) return false;
    return (is_floating(type) || is_integer(type)) && type != data_type::i16 && type != data_type::u16;
}

inline gpu::operation start(gpu::communicator& all, const device_call& one, const gpu::device_span& source, const gpu::device_span& target,
                            const gpu::call_options& how = {}) {
    const call& what = one.what;
    switch (what.kind) {
        case collective::all_reduce:
            return one.in_place ? all.all_reduce(target, what.op, how) : all.all_reduce(source, target, what.op, how);
        case collective::reduce:
            return one.in_place ? all.reduce(target, what.op, what.root, how) : all.reduce(source, target, what.op, what.root, how);
        case collective::broadcast: return all.broadcast(target, what.root, how);
        case collective::all_gather: return all.all_gather(source, target, how);
        case collective::reduce_scatter: return all.reduce_scatter(source, target, what.op, how);
        case collective::all_to_all: return all.all_to_all(source, target, how);
        case collective::gather: return all.gather(source, target, what.root, how);
        default: return all.scatter(source, target, what.root, how);
    }
}

/// Each of a list by `once`, with a seed of its own. A failed check says on which rank, and of which call.
template <class Rank>
task<> all_of(Rank& here, std::vector<device_call> list, task<> (*once)(Rank&, const device_call&, std::uint64_t)) {
    std::uint64_t seed = 1;
    for (const device_call& one : list) {
        CAPTURE(here.me);
        CAPTURE(name(one.what.kind));
        CAPTURE(name(one.what.type));
        CAPTURE(name(one.what.op.kind()));
        CAPTURE(one.what.count);
        CAPTURE(one.in_place);
        auto work = once(here, one, seed++);
        co_await std::move(work);
    }
}

}  // namespace tutti::test
