// The library's buffers, copies and kernels, on whatever the tests run on.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/gpu/copy.hpp>
#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/device_code.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/task.hpp>

#include <algorithm>
#include <numeric>

using namespace tutti;
using test::gate;
using test::testbed;

namespace {

/// There and back by way of a second buffer, with a part of it filled.
task<> around(gpu::device card, std::size_t count) {
    const gpu::stream stream = gpu::stream::make(card).value(), other = gpu::stream::make(card).value();
    const auto from = gpu::pinned_buffer<std::uint32_t>::allocate(card, count).value(),
               to = gpu::pinned_buffer<std::uint32_t>::allocate(card, count).value();
    const auto one = gpu::device_buffer<std::uint32_t>::allocate(card, count).value(),
               two = gpu::device_buffer<std::uint32_t>::allocate(card, count).value();
    std::iota(from.data(), from.data() + count, 1u);
    std::fill_n(to.data(), count, 0u);
    future<> there = gpu::copy(stream, one, from);
    co_await std::move(there);
    future<> across = gpu::copy(stream, two, one);
    future<> filled = gpu::fill(stream, two.part(count / 2, 1), std::byte{0xff});
    CHECK(other.wait(stream.record().value()));
    future<> back = gpu::copy(other, to, two);
    co_await std::move(back);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += to[i] != (i == count / 2 ? ~0u : static_cast<std::uint32_t>(i + 1));
    CHECK(wrong == 0);
    co_await std::move(across);
    co_await std::move(filled);
}

}  // namespace

TEST_CASE("what was copied to a device, across it and back is what it was") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{3'000'000}}) {
        CAPTURE(count);
        testbed bed;
        event_loop loop;
        run(loop, around(bed.open(), count));
    }
}

namespace {

task<> let_go_at_once(const testbed& bed, gpu::device card) {
    const gpu::stream stream = gpu::stream::make(card).value();
    const auto seen = gpu::pinned_buffer<int>::allocate(card, 1000).value();
    gate closed(bed, stream);
    {
        const auto memory = gpu::device_buffer<int>::allocate(card, 1000).value();
        const auto host = gpu::pinned_buffer<int>::allocate(card, 1000).value();
        std::fill_n(host.data(), 1000, 17);
        const future<> dropped = gpu::copy(stream, memory, host), dropped_too = gpu::copy(stream, seen, memory);
    }
    closed.open();
    co_await stream.completed();
    CHECK(std::count(seen.data(), seen.data() + 1000, 17) == 1000);
}

task<> copy_unequal(gpu::device card) {
    const gpu::stream stream = gpu::stream::make(card).value();
    const auto memory = gpu::device_buffer<int>::allocate(card, 10).value();
    const auto host = gpu::pinned_buffer<int>::allocate(card, 9).value();
    const auto how = co_await as_result(gpu::copy(stream, memory, host));
    REQUIRE_FALSE(how);
    CHECK(how.failure().code() == error::invalid_argument);
}

}  // namespace

TEST_CASE("buffers may be let go of as soon as their copies have been called") {
    testbed bed;
    event_loop loop;
    run(loop, let_go_at_once(bed, bed.open()));
}

TEST_CASE("parts of different length are refused, and the stream goes on") {
    testbed bed;
    event_loop loop;
    run(loop, copy_unequal(bed.open()));
}

TEST_CASE("more memory than a device has is refused, and the device goes on") {
    testbed bed;
    const gpu::device card = bed.open();
    const auto refused = gpu::device_buffer<std::byte>::allocate(card, std::size_t{1} << 44);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == error::device_failed);
    CHECK_FALSE(card.fault());
    CHECK(gpu::device_buffer<std::byte>::allocate(card, 1000));
}

namespace {

task<> launch(const testbed& bed, gpu::device card) {
    constexpr unsigned count = 5000;
    const gpu::stream stream = gpu::stream::make(card).value();
    const auto code = gpu::device_code::load(card, bed.code()).value();
    const auto scaled = code.find("scaled_numbers").value();
    CHECK_FALSE(code.find("no_such_kernel"));
    const auto values = gpu::device_buffer<unsigned>::allocate(card, count).value();
    const auto seen = gpu::pinned_buffer<unsigned>::allocate(card, count).value();
    CHECK(scaled.launch(stream, {.blocks = {(count + 255) / 256}, .threads = {256}}, values.data(), count, 3u));
    future<> back = gpu::copy(stream, seen, values);
    co_await std::move(back);
    std::size_t wrong = 0;
    for (unsigned i = 0; i < count; ++i) wrong += seen[i] != 3 * i;
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a kernel that was launched through the library has done its work before the copy behind it") {
    testbed bed;
    if (bed.code().bytes.empty()) return test::skip("this program was built without nvcc, and has no kernels");
    event_loop loop;
    run(loop, launch(bed, bed.open()));
}
