// All that ranks with devices do together, on each of them: every collective against what a serial computation gives, in the three ways of
// knowing that it is over.
#pragma once

#include "device/call.hpp"
#include "gpu/conformance/ranks.hpp"

#include <cstring>
#include <vector>

namespace tutti::test {

/// The abilities of an engine. Averages are exact on one rank or two: halving a floating number rounds only next to zero, where the
/// tests have none, so that numbers may be halved before they are added or behind it.
struct abilities {
    bool all_types = true;  // also those NCCL has none for
};

/// Every kind, type and operator, with a few lengths.
inline std::vector<device_call> everything(int size, const abilities& who) {
    std::vector<device_call> list;
    std::size_t turn = 0;
    for (const collective kind : device_kinds)
        for (const data_type type : all_types)
            for (const reduction& op : all_ops) {
                if (!has_op(kind, op)) continue;
                if (reduces(kind) && !(who.all_types ? defined(op.kind(), type) : reduced_by_nccl(type, op))) continue;
                constexpr std::size_t counts[] = {257, 1, 20'000, 0};
                device_call one;
                one.what.kind = kind;
                one.what.type = type;
                one.what.op = op;
                one.what.count = counts[turn % std::size(counts)];
                one.what.root = static_cast<rank>(turn++ % static_cast<std::size_t>(size));
                add_ways(list, one);
            }
    return list;
}

/// *Ordered* or *completed*, by turns: in both cases a copy that is enqueued next finds the results.
inline task<> over(rank_place& here, gpu::operation done, std::uint64_t turn) {
    if (here.compute && turn % 2 == 0) {
        future<> enqueued = done.enqueued();
        co_await std::move(enqueued);
        future<> ordered = done.wait_on(*here.compute);
        co_await std::move(ordered);
    } else {
        co_await std::move(done);
    }
}

inline task<> once(rank_place& here, const device_call& one, std::uint64_t seed) {
    const call& what = one.what;
    const oracle expected(what, here.all.size(), seed);
    const byte_vector& input = expected.input(here.me);
    const std::size_t in = expected.input_count(here.me), out = expected.output_count(here.me);
    const bool one_buffer = one.in_place || what.kind == collective::broadcast;
    constexpr std::size_t margin = 16;  // behind the output, which no operation may touch
    const mirrored_memory from = here.place(input.size()), to = here.place(std::max(input.size(), out * what.element_bytes()) + margin);
    std::memset(to.here, 0x5a, to.bytes);
    std::copy(input.begin(), input.end(), one_buffer ? to.here : from.here);
    here.enqueue_upload(from);
    here.enqueue_upload(to);
    const auto source = from.span(what.type, in), target = to.span(what.type, one_buffer ? std::max(in, out) : out);
    auto ending = over(here, start(here.all, one, source, target, here.behind_compute()), seed);
    co_await std::move(ending);
    auto back = here.download(to);
    co_await std::move(back);
    auto unchanged = here.download(from);
    co_await std::move(unchanged);
    const byte_vector want = expected.expected(here.me);
    CHECK(alike(what.type, byte_vector(to.here, to.here + want.size()), want));
    if (!one_buffer) CHECK(same_bytes(input, {from.here, input.size()}));
    CHECK(std::all_of(to.here + to.bytes - margin, to.here + to.bytes, [](std::byte each) { return each == std::byte{0x5a}; }));
}

inline task<> all_collectives(rank_place& here, const abilities& who) { return all_of(here, everything(here.all.size(), who), once); }

/// Lists, messages, a barrier, a child, and many at once.
task<> other_operations(rank_place& here);
/// Some steps of a reducer, whose averages are checked.
task<> train(rank_place& here);

}  // namespace tutti::test
