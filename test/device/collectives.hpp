// One operation of a gpu::communicator on every rank, against what a serial computation gives.
#pragma once

#include "device/call.hpp"
#include "device/ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

namespace tutti::test {

inline task<> once(device_rank& here, const device_call& one, std::uint64_t seed) {
    const call& what = one.what;
    const oracle expected(what, here.all.size(), seed);
    const std::size_t element = what.element_bytes();
    const byte_vector& input = expected.input(here.me);
    const std::size_t in = expected.input_count(here.me), out = expected.output_count(here.me);
    const bool one_buffer = one.in_place || what.kind == collective::broadcast;
    // Behind the output stand bytes that no operation may touch.
    constexpr std::size_t margin = 16;
    const auto from = here.place(input.size() + 1), to = here.place(std::max(input.size(), out * element) + margin);
    std::memset(to.seen, 0x5a, to.bytes);
    std::copy(input.begin(), input.end(), one_buffer ? to.seen : from.seen);
    gpu::device_span source(from.data, in, what.type, from.keep), target(to.data, one_buffer ? std::max(in, out) : out, what.type, to.keep);
    source.opaque_bytes = target.opaque_bytes = what.type == data_type::opaque ? element : 0;
    auto done = start(here.all, one, source, target);
    co_await std::move(done);
    const byte_vector want = expected.expected(here.me);
    const byte_vector got(to.seen, to.seen + want.size());
    CHECK(alike(what.type, got, want));
    if (!one_buffer) CHECK(same_bytes(input, {from.seen, input.size()}));
    for (std::size_t index = to.bytes - margin; index < to.bytes; ++index) CHECK(to.seen[index] == std::byte{0x5a});
}

inline task<> all_of(device_rank& here, std::vector<device_call> list) { return all_of(here, std::move(list), once); }

}  // namespace tutti::test
