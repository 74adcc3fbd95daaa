// More elements than 31 bits count. Takes 5 GiB of memory, so it runs when asked for only: TUTTI_TEST_PROPERTY=huge.
#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>

using namespace tutti;

namespace {

constexpr std::size_t huge_count = (std::size_t{1} << 31) + 5;

/// Changes with the rank, and with every bit of the index.
std::int8_t value(std::size_t index, rank who) noexcept {
    const std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15u;
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(mixed >> 56) / 8 + 3 * who);
}

task<> move_huge(communicator& world) {
    const auto memory = std::make_unique_for_overwrite<std::int8_t[]>(huge_count);
    const std::span data(memory.get(), huge_count);
    for (std::size_t index = 0; index < huge_count; ++index) data[index] = value(index, world.rank());
    co_await world.all_reduce(data, sum);
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < huge_count; ++index) wrong += data[index] != value(index, 0) + value(index, 1);
    CHECK(wrong == 0);

    for (std::size_t index = 0; index < huge_count; ++index) data[index] = world.rank() == 1 ? value(index, 5) : std::int8_t{0};
    co_await world.broadcast(data, 1);
    wrong = 0;
    for (std::size_t index = 0; index < huge_count; ++index) wrong += data[index] != value(index, 5);
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a sum and a broadcast of more than 2^31 elements are right" * doctest::timeout(3600)) {
    const char* const asked = std::getenv("TUTTI_TEST_PROPERTY");
    if (!asked || std::string_view(asked) != "huge") {
        MESSAGE("skipped: TUTTI_TEST_PROPERTY=huge runs it");
        return;
    }
    const auto began = std::chrono::steady_clock::now();
    test::run_ranks(2, move_huge);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    MESSAGE(huge_count, " elements of i8, all_reduce and broadcast on 2 ranks, in ", took.count(), " s");
}
