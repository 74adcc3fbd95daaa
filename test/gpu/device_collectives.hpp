// One operation of a gpu::communicator on every rank, against what a serial computation gives.
#pragma once

#include "gpu/device_ranks.hpp"
#include "support/oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tutti::test {

inline constexpr collective device_kinds[] = {collective::all_reduce, collective::reduce,         collective::broadcast,
                                              collective::all_gather, collective::reduce_scatter, collective::all_to_all,
                                              collective::gather,     collective::scatter};

struct device_call {
    call what;
    bool in_place = false;
};

/// Where the ranks' parts lie in each other's outputs.
inline bool may_be_in_place(collective kind) {
    return kind != collective::all_to_all && kind != collective::gather && kind != collective::scatter;
}

inline gpu::operation start(device_rank& here, const device_call& one, const rank_memory& from, std::size_t in, const rank_memory& to,
                            std::size_t out) {
    const call& what = one.what;
    gpu::device_span source(from.data, in, what.type, from.keep), target(to.data, out, what.type, to.keep);
    source.opaque_bytes = target.opaque_bytes = what.type == data_type::opaque ? what.element_bytes() : 0;
    switch (what.kind) {
        case collective::all_reduce:
            return one.in_place ? here.all.all_reduce(target, what.op) : here.all.all_reduce(source, target, what.op);
        case collective::reduce:
            return one.in_place ? here.all.reduce(target, what.op, what.root) : here.all.reduce(source, target, what.op, what.root);
        case collective::broadcast: return here.all.broadcast(target, what.root);
        case collective::all_gather: return here.all.all_gather(source, target);
        case collective::reduce_scatter: return here.all.reduce_scatter(source, target, what.op);
        case collective::all_to_all: return here.all.all_to_all(source, target);
        case collective::gather: return here.all.gather(source, target, what.root);
        default: return here.all.scatter(source, target, what.root);
    }
}

inline task<> once(device_rank& here, const device_call& one, std::uint64_t seed) {
    const call& what = one.what;
    const oracle expected(what, here.all.size(), seed);
    const std::size_t element = what.element_bytes();
    const bytes& input = expected.input(here.me);
    const std::size_t in = expected.input_count(here.me), out = expected.output_count(here.me);
    const bool one_buffer = one.in_place || what.kind == collective::broadcast;
    // Behind the output stand bytes that nobody may touch.
    constexpr std::size_t margin = 16;
    const auto from = here.place(input.size() + 1), to = here.place(std::max(input.size(), out * element) + margin);
    std::memset(to.seen, 0x5a, to.bytes);
    std::copy(input.begin(), input.end(), one_buffer ? to.seen : from.seen);
    auto done = start(here, one, from, in, to, one_buffer ? std::max(in, out) : out);
    co_await std::move(done);
    const bytes want = expected.expected(here.me);
    const bytes got(to.seen, to.seen + want.size());
    CHECK(alike(what.type, got, want));
    if (!one_buffer) CHECK(std::equal(input.begin(), input.end(), from.seen));
    for (std::size_t index = to.bytes - margin; index < to.bytes; ++index) CHECK(to.seen[index] == std::byte{0x5a});
}

inline task<> all_of(device_rank& here, const std::vector<device_call>& list) {
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
