#include "reduce/kernel.hpp"

#include "reduce/scalar.hpp"
#include "samples.hpp"
#include "targets.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint64_t seed = 20221;

std::vector<std::size_t> all_counts() {
    std::vector<std::size_t> counts;
    for (std::size_t count = 0; count <= 70; ++count) counts.push_back(count);
    for (const std::size_t count : std::initializer_list<std::size_t>{127, 128, 129, 509, 1021, 4099, 16384}) counts.push_back(count);
    return counts;
}

enum class placement { apart, onto_first, onto_second, all_one };
constexpr placement all_placements[] = {placement::apart, placement::onto_first, placement::onto_second, placement::all_one};

struct operands {
    block first;
    block second;
    block target;

    operands(data_type type, std::size_t count, std::mt19937_64& random)
        : first(type, count, random() % 9, random), second(type, count, random() % 9, random), target(type, count, random() % 9, random) {}

    template <class Combine>
    void combine_with(Combine&& work, placement where) {
        void* const a = first.data();
        switch (where) {
            case placement::apart: return work(target.data(), a, second.data());
            case placement::onto_first: return work(a, a, second.data());
            case placement::onto_second: return work(second.data(), a, second.data());
            case placement::all_one: return work(a, a, a);
        }
    }
    bool operator==(const operands&) const = default;
};

bool combine_agrees(reduce_op op, data_type type, std::size_t count, placement where, std::mt19937_64& random) {
    operands vectors(type, count, random);
    operands scalars = vectors;
    vectors.combine_with([&](void* to, const void* a, const void* b) { combine(op, type, to, a, b, count); }, where);
    scalars.combine_with([&](void* to, const void* a, const void* b) { combine_scalar(op, type, to, a, b, count); }, where);
    return vectors == scalars;
}

bool divide_agrees(data_type type, std::size_t count, int divisor, std::mt19937_64& random) {
    block vectors(type, count, random() % 9, random);
    block scalars = vectors;
    divide(type, vectors.data(), count, divisor);
    divide_scalar(type, scalars.data(), count, divisor);
    return vectors == scalars;
}

}  // namespace

TEST_CASE("every instruction set combines every type to the bits of the scalar definition, in place or not") {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(seed);
        for (const auto type : all_types)
            for (const auto op : all_ops)
                for (const auto count : all_counts())
                    for (const auto where : all_placements) {
                        INFO(kernel_target(), " ", std::string(name(type)), " ", std::string(name(op)), " count ", count, " placement ",
                             static_cast<int>(where), " seed ", seed);
                        CHECK(combine_agrees(op, type, count, where, random));
                    }
    }
}

TEST_CASE("every instruction set divides every type to the bits of the scalar definition") {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(seed);
        for (const auto type : all_types)
            for (const int divisor : {1, 2, 3, 7, 8, 33, 127, 128, 255, 256, 1000, 65537, std::numeric_limits<int>::max()})
                for (const auto count : all_counts()) {
                    INFO(kernel_target(), " ", std::string(name(type)), " / ", divisor, " count ", count, " seed ", seed);
                    CHECK(divide_agrees(type, count, divisor, random));
                }
    }
}

TEST_CASE("a NaN result has the same bits whichever operand came first and whatever it carried") {
    const std::pair<data_type, std::uint64_t> rows[] = {
        {data_type::f32, 0x7fc00000}, {data_type::f64, 0x7ff8000000000000}, {data_type::f16, 0x7e00}, {data_type::bf16, 0x7fc0}};
    for (const auto target : all_targets()) {
        const only_target here(target);
        for (const auto& [type, canonical_bits] : rows)
            for (const auto op : all_ops) {
                const std::uint64_t negative_with_payload = canonical_bits | 1u | (1ull << (8 * size_of(type) - 1));
                constexpr std::size_t count = 100;
                std::vector<std::byte> nans(count * 8), zeros(count * 8), there(count * 8), back(count * 8);
                for (std::size_t i = 0; i < count; ++i) std::memcpy(nans.data() + i * size_of(type), &negative_with_payload, size_of(type));
                combine(op, type, there.data(), nans.data(), zeros.data(), count);
                combine(op, type, back.data(), zeros.data(), nans.data(), count);
                INFO(kernel_target(), " ", std::string(name(type)), " ", std::string(name(op)));
                CHECK(there == back);
                for (std::size_t i = 0; i < count; ++i) {
                    std::uint64_t bits = 0;
                    std::memcpy(&bits, there.data() + i * size_of(type), size_of(type));
                    REQUIRE(bits == canonical_bits);
                }
            }
    }
}

TEST_CASE("the instruction set in use is the one that was chosen, and has a name") {
    CHECK(std::string(kernel_target()) != "Unknown");
    for (const auto target : all_targets()) {
        const only_target here(target);
        CHECK(std::string(kernel_target()) == hwy::TargetName(target));
    }
}
