#include "transport/staging_buffers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tutti::test {

TEST_CASE("a payload has as many staging buffers as it fills, and no byte of another one's") {
    std::vector<std::byte> memory(staging_buffers::all_bytes);
    staging_buffers all(memory);
    std::set<const std::byte*> taken;
    std::size_t count = 0;
    for (const std::size_t bytes : {std::size_t{1}, staging_buffers::buffer_bytes, staging_buffers::buffer_bytes + 1, 4 * staging_buffers::buffer_bytes}) {
        CAPTURE(bytes);
        const auto* const in = all.take(1, static_cast<std::uint32_t>(count), bytes);
        REQUIRE(in);
        CHECK(in->count == (bytes + staging_buffers::buffer_bytes - 1) / staging_buffers::buffer_bytes);
        std::size_t there = 0;
        for (const auto& part : in->where()) {
            CHECK(part.size() <= staging_buffers::buffer_bytes);
            CHECK((part.data() - memory.data()) % static_cast<std::ptrdiff_t>(staging_buffers::buffer_bytes) == 0);
            CHECK(taken.insert(part.data()).second);
            there += part.size();
        }
        CHECK(there == bytes);
        count += in->count;
    }
    CHECK(count == staging_buffers::buffer_count);
    CHECK(all.take(2, 0, 1) == nullptr);
}

TEST_CASE("what needs more staging buffers than a frame has references, or than are free, has none") {
    std::vector<std::byte> memory(staging_buffers::all_bytes);
    staging_buffers all(memory);
    CHECK(all.take(1, 0, most_references * staging_buffers::buffer_bytes + 1) == nullptr);
    CHECK(all.take(1, 0, 0) == nullptr);
    for (std::uint32_t index = 0; index < staging_buffers::buffer_count - 1; ++index) REQUIRE(all.take(1, index, 100));
    CHECK(all.take(1, 100, staging_buffers::buffer_bytes + 1) == nullptr);
    CHECK(all.take(1, 100, staging_buffers::buffer_bytes));
    CHECK(staging_buffers(std::span(memory).first(staging_buffers::buffer_bytes - 1)).take(1, 0, 1) == nullptr);
}

TEST_CASE("staging buffers are found by operation and place, and what was freed last is taken first") {
    std::vector<std::byte> memory(staging_buffers::all_bytes);
    staging_buffers all(memory);
    for (std::uint32_t index = 0; index < 4; ++index) REQUIRE(all.take(7, index, 2 * staging_buffers::buffer_bytes));
    CHECK(all.find(8, 2) == nullptr);
    CHECK(all.find(7, 4) == nullptr);
    const auto* const second = all.find(7, 2);
    REQUIRE(second);
    const std::vector<std::span<std::byte>> parts(second->where().begin(), second->where().end());
    all.free(*second);
    CHECK(all.find(7, 2) == nullptr);
    for (const std::uint32_t index : {0U, 1U, 3U}) CHECK(all.find(7, index));
    const auto* const again = all.take(9, 5, 2 * staging_buffers::buffer_bytes);
    REQUIRE(again);
    CHECK(std::equal(parts.begin(), parts.end(), again->where().begin(),
                     [](const auto& one, const auto& other) { return one.data() == other.data(); }));
    for (const std::uint32_t index : {0U, 1U, 3U}) all.free(*all.find(7, index));
    all.free(*all.find(9, 5));
}

TEST_CASE("what nobody answers is found under no place, and its staging buffers are free when its frame has been given back") {
    std::vector<std::byte> memory(staging_buffers::all_bytes);
    staging_buffers all(memory);
    CHECK_FALSE(all.to_be_returned());
    REQUIRE(all.take(1, 0, staging_buffers::buffer_bytes));
    CHECK_FALSE(all.to_be_returned());
    for (std::uint64_t number = 1; number < staging_buffers::buffer_count; ++number) {
        const auto* const in = all.take(1, std::nullopt, 100);
        REQUIRE(in);
        all.sent(in->parts[0].data(), number);
    }
    CHECK(all.to_be_returned());
    CHECK(all.take(2, std::nullopt, 100) == nullptr);
    all.free_returned(3);
    for (int count = 0; count < 3; ++count) REQUIRE(all.take(2, std::nullopt, 100));  // not sent
    CHECK(all.take(2, std::nullopt, 100) == nullptr);
    all.free_returned(staging_buffers::buffer_count);
    for (std::size_t count = 3; count < staging_buffers::buffer_count - 1; ++count) REQUIRE(all.take(3, std::nullopt, 100));
    CHECK(all.take(3, std::nullopt, 100) == nullptr);
    REQUIRE(all.find(1, 0));
    all.free(*all.find(1, 0));
    CHECK(all.to_be_returned());
}

}  // namespace tutti::test
