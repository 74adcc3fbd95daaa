#include "reduce/kernel.hpp"

#include "reduce/reciprocal.hpp"
#include "reduce/scalar.hpp"
#include "samples.hpp"
#include "targets.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <string>

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint64_t kernel_seed = 20221;

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

bool scale_agrees(data_type type, std::size_t count, double factor, std::mt19937_64& random) {
    const std::size_t from = random() % 9, to = random() % 9;
    block source(type, count, from, random), vectors(type, count, to, random), in_place = source;
    block scalars = vectors, in_place_scalars = source;
    scale(type, vectors.data(), source.data(), count, factor);
    scale_scalar(type, scalars.data(), source.data(), count, factor);
    scale(type, in_place.data(), in_place.data(), count, factor);
    scale_scalar(type, in_place_scalars.data(), in_place_scalars.data(), count, factor);
    return vectors == scalars && in_place == in_place_scalars;
}

/// `others` blocks are merged into one; the result goes into that, into the first `written` of the others, and into `beside` blocks more.
struct merge_shape {
    std::size_t others, written, beside;
};
constexpr merge_shape merge_shapes[] = {{0, 0, 1}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 1, 0}, {3, 3, 0}, {15, 15, 0}};

std::vector<block> some_blocks(std::size_t many, data_type type, std::size_t count, std::mt19937_64& random) {
    std::vector<block> all;
    for (std::size_t each = 0; each < many; ++each) all.emplace_back(type, count, random() % 9, random);
    return all;
}

bool merge_agrees(reduce_op op, data_type type, std::size_t count, merge_shape shape, bool in_place, std::mt19937_64& random) {
    std::vector<block> vectors = some_blocks(1 + shape.others + shape.beside, type, count, random), scalars = vectors;
    block first = some_blocks(1, type, count, random).front();
    std::vector<const std::byte*> others;
    std::vector<std::byte*> also;
    for (std::size_t each = 1; each < vectors.size(); ++each) {
        auto* const data = static_cast<std::byte*>(vectors[each].data());
        if (each <= shape.others) others.push_back(data);
        if (each <= shape.written || each > shape.others) also.push_back(data);
    }
    auto* const sum = static_cast<std::byte*>(vectors[0].data());
    merge(op, type, {in_place ? sum : static_cast<std::byte*>(first.data()), others, sum, also, !in_place}, count);
    void* const own = scalars[0].data();
    if (!in_place && count > 0) std::memcpy(own, first.data(), count * size_of(type));
    for (std::size_t each = 1; each <= shape.others; ++each) combine_scalar(op, type, own, own, scalars[each].data(), count);
    for (std::size_t each = 1; each < scalars.size(); ++each)
        if ((each <= shape.written || each > shape.others) && count > 0) std::memcpy(scalars[each].data(), own, count * size_of(type));
    return vectors == scalars;
}

/// For every instruction set `check(type, op, random)`, where the operator is defined for the type.
template <class Check>
void each_defined(Check check) {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(kernel_seed);
        for (const auto type : all_types)
            for (const auto op : all_ops)
                if (defined(op, type)) check(type, op, random);
    }
}

}  // namespace

TEST_CASE("every instruction set combines every type to the bits of the scalar definition, in place or not") {
    each_defined([](data_type type, reduce_op op, std::mt19937_64& random) {
        for (const auto count : all_counts())
            for (const auto where : all_placements) {
                INFO(kernel_target(), " ", std::string(name(type)), " ", std::string(name(op)), " count ", count, " placement ",
                     static_cast<int>(where), " seed ", kernel_seed);
                CHECK(combine_agrees(op, type, count, where, random));
            }
    });
}

TEST_CASE("every instruction set merges many blocks to the bits of combining them one by one, wherever the result goes") {
    each_defined([](data_type type, reduce_op op, std::mt19937_64& random) {
        for (const auto count : std::initializer_list<std::size_t>{0, 1, 3, 15, 16, 17, 63, 64, 65, 255, 257, 509, 1021, 4099})
            for (const merge_shape shape : merge_shapes) {
                INFO(kernel_target(), " ", std::string(name(type)), " ", std::string(name(op)), " count ", count, " of ", shape.others,
                     " into ", shape.written, " and ", shape.beside, " seed ", kernel_seed);
                CHECK(merge_agrees(op, type, count, shape, true, random));
                CHECK(merge_agrees(op, type, count, shape, false, random));
            }
    });
}

TEST_CASE("every instruction set divides every type to the bits of the scalar definition") {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(kernel_seed);
        for (const auto type : all_types)
            for (const int divisor : {1, 2, 3, 7, 8, 33, 127, 128, 255, 256, 1000, 65537, std::numeric_limits<int>::max()})
                for (const auto count : all_counts()) {
                    if (!defined(avg, type)) continue;
                    INFO(kernel_target(), " ", std::string(name(type)), " / ", divisor, " count ", count, " seed ", kernel_seed);
                    CHECK(divide_agrees(type, count, divisor, random));
                }
    }
}

TEST_CASE("every instruction set scales every type to the bits of the scalar definition, in place or not") {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(kernel_seed);
        for (const auto type : all_types)
            for (const double factor : {1.0, 0.25, -1.0 / 3, 0.0, 1e300, 5e-324, std::numeric_limits<double>::infinity(), std::nan("")})
                for (const auto count : all_counts()) {
                    if (!defined(reduce_op::premul, type)) continue;
                    INFO(kernel_target(), " ", std::string(name(type)), " * ", factor, " count ", count, " seed ", kernel_seed);
                    CHECK(scale_agrees(type, count, factor, random));
                }
    }
}

TEST_CASE("division by a reciprocal is division, for the largest, the smallest and the neighbours of every multiple") {
    std::mt19937_64 random(kernel_seed);
    for (int round = 0; round < 20'000; ++round) {
        const int bits = static_cast<int>(random() % 31);
        const int divisor = round < 300 ? round + 1 : static_cast<int>(1 + random() % (std::uint64_t{1} << bits));
        const reciprocal by(static_cast<std::uint64_t>(divisor));
        const std::uint64_t any = random() >> random() % 64,
                            multiple = any / static_cast<std::uint64_t>(divisor) * static_cast<std::uint64_t>(divisor);
        for (const std::uint64_t value :
             {any, multiple, multiple - 1, multiple + 1, std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
            CAPTURE(divisor);
            CAPTURE(value);
            REQUIRE(by.divide(value) == divide_one(value, divisor));
            REQUIRE(by.divide(static_cast<std::int64_t>(value)) == divide_one(static_cast<std::int64_t>(value), divisor));
        }
    }
}

template <class T>
bool divides_as_one_by_one(std::vector<T> values, int divisor) {
    std::vector<T> expected = values;
    for (T& each : expected) each = divide_one(each, divisor);
    divide(data_type_of<T>, values.data(), values.size(), divisor);
    return values == expected;
}

TEST_CASE_TEMPLATE("all integers of up to 16 bits divide exactly", T, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t) {
    std::vector<T> all(std::size_t{1} << 8 * sizeof(T));
    std::iota(all.begin(), all.end(), std::numeric_limits<T>::min());
    for (const auto target : all_targets()) {
        const only_target here(target);
        for (int divisor = 1; divisor < 70'000; divisor += divisor < 100 ? 1 : divisor / 8) {
            CAPTURE(kernel_target());
            CAPTURE(divisor);
            REQUIRE(divides_as_one_by_one(all, divisor));
        }
    }
}

TEST_CASE_TEMPLATE("integers of 32 bits divide exactly, the largest, the smallest and the neighbours of every multiple", T, std::int32_t,
                   std::uint32_t) {
    for (const auto target : all_targets()) {
        const only_target here(target);
        std::mt19937_64 random(kernel_seed);
        for (int round = 0; round < 2'000; ++round) {
            const int divisor = round < 300 ? round + 1 : static_cast<int>(1 + random() % (std::uint64_t{1} << random() % 31));
            std::vector<T> values = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
            for (int each = 0; each < 30; ++each) {
                const auto multiple =
                    static_cast<T>(static_cast<T>(random() >> random() % 64) / static_cast<T>(divisor) * static_cast<T>(divisor));
                values.insert(values.end(), {multiple, static_cast<T>(multiple - 1), static_cast<T>(multiple + 1)});
            }
            INFO(kernel_target(), " / ", divisor, " seed ", kernel_seed);
            REQUIRE(divides_as_one_by_one(values, divisor));
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
                if (!defined(op, type)) continue;
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

TEST_CASE("a NaN in either part of a complex number is canonical in the result, whichever operand came first") {
    using complex = std::complex<float>;
    const float odd_nan = std::bit_cast<float>(0xffc12345u);
    for (const auto target : all_targets()) {
        const only_target here(target);
        INFO(kernel_target());
        const std::vector<complex> nans(9, complex(odd_nan, 1)), ones(9, complex(1, 1));
        std::vector<complex> there(9), back(9);
        for (const reduce_op op : {reduce_op::sum, reduce_op::prod}) {
            combine(op, data_type::cf32, there.data(), nans.data(), ones.data(), 9);
            combine(op, data_type::cf32, back.data(), ones.data(), nans.data(), 9);
            CHECK(std::memcmp(there.data(), back.data(), sizeof(complex) * 9) == 0);
            CHECK(std::bit_cast<std::uint32_t>(there[8].real()) == 0x7fc00000u);
        }
    }
}
