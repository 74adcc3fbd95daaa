#include "transport/arena.hpp"
#include "transport/shared_memory.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace tutti::test {

TEST_CASE("an arena gives zeros, aligned, that do not overlap, and knows where they lie in its file") {
    arena from(true);
    std::mt19937_64 random{11};
    struct piece {
        std::byte* memory;
        std::size_t bytes;
    };
    std::vector<piece> held;
    for (int step = 0; step < 2000; ++step) {
        if (random() % 3 != 0 || held.empty()) {
            const std::size_t bytes = random() % 5 == 0 ? random() % 3'000'000 : random() % 5000;
            std::byte* const memory = from.allocate(bytes);
            CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
            CHECK(std::all_of(memory, memory + bytes, [](std::byte each) { return each == std::byte{0}; }));
            std::fill(memory, memory + bytes, std::byte{0xff});
            CHECK(from.locate({memory, bytes}).has_value());
            for (const piece& each : held) CHECK((memory + bytes <= each.memory || each.memory + each.bytes <= memory));
            held.push_back({memory, bytes});
        } else {
            const std::size_t which = random() % held.size();
            from.free(held[which].memory, held[which].bytes);
            held[which] = held.back();
            held.pop_back();
        }
    }
    for (const piece& each : held) from.free(each.memory, each.bytes);
    // All is one piece again.
    std::byte* const again = from.allocate(100);
    CHECK(from.locate({again, 100}) == 0);
    from.free(again, 100);
}

TEST_CASE("shared memory beyond the limit on files is refused, and the process goes on") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit low = before;
    low.rlim_cur = MiB;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
    const auto within = make_shared_file("within", MiB), beyond = make_shared_file("beyond", MiB + 1);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(within);
    REQUIRE(!beyond);
    CHECK(beyond.failure().code() == error::system);
    CHECK(std::string(beyond.failure().what()).find("File too large") != std::string::npos);
}

TEST_CASE("another mapping of an arena's file shows what was written") {
    arena from(true);
    std::byte* const memory = from.allocate(5000);
    const auto other = std::move(mapping::of(from.file(), mapping::access::read)).value();
    memory[4999] = std::byte{42};
    CHECK(other.data()[*from.locate({memory, 5000}) + 4999] == std::byte{42});
    from.free(memory, 5000);
}

TEST_CASE("memory that is not in the arena is found nowhere, nor is what goes beyond its end") {
    arena shared(true), ordinary(false);
    std::byte* const memory = shared.allocate(100);
    std::byte other[100];
    CHECK_FALSE(shared.locate({other, 100}));
    CHECK_FALSE(shared.locate({memory, ~std::size_t{0} / 2}));
    std::byte* const plain = ordinary.allocate(100);
    CHECK_FALSE(ordinary.locate({plain, 100}));
    CHECK(ordinary.why_not().empty());
    CHECK_FALSE(ordinary.file());
    ordinary.free(plain, 100);
    shared.free(memory, 100);
}

/// The flags of the mapping in which `address` lies, as the system tells them.
std::string flags_at(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) inside = begin <= at && at < end;
        else if (inside && line.starts_with("VmFlags:")) return line;
    }
    return {};
}

TEST_CASE("long ordinary memory begins at a huge page, and asks for such pages where the system has them") {
    constexpr std::size_t huge_page = 2 * MiB;
    arena ordinary(false);
    for (const std::size_t bytes : {huge_page - 64, huge_page, 5 * huge_page + 1}) {
        CAPTURE(bytes);
        std::byte* const memory = ordinary.allocate(bytes);
        CHECK(std::all_of(memory, memory + bytes, [](std::byte each) { return each == std::byte{0}; }));
        if (bytes >= huge_page) {
            CHECK(reinterpret_cast<std::uintptr_t>(memory) % huge_page == 0);
            if (std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) CHECK(flags_at(memory).find(" hg") != std::string::npos);
        }
        ordinary.free(memory, bytes);
    }
}

}  // namespace tutti::test
