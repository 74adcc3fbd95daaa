// Elements to test arithmetic with: the awkward values of every type, random bits, and ordinary numbers.
#pragma once

#include <tutti/types.hpp>

#include "reduce/visit.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace tutti::test {

inline constexpr auto all_ops = library_ops;
inline constexpr auto all_types = reducible_types;

/// Zeros, ones, smallest and largest subnormals and normals, ties, infinities; then NaN: quiet, with payload, negative, signalling.
inline constexpr std::uint32_t awkward_f32[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff,
                                                0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f800001, 0x4b800000, 0x4b800001,
                                                0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fc12345, 0xffffffff, 0x7f800001};
inline constexpr std::uint64_t awkward_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x8010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x3ff0000000000001,
    0x4340000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000012345678,
    0xffffffffffffffff, 0x7ff0000000000001};
inline constexpr std::uint16_t awkward_f16[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff,
                                                0x3c01, 0x6800, 0x6801, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e12, 0xffff, 0x7c01};
inline constexpr std::uint16_t awkward_bf16[] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x7f7f, 0xff7f,
                                                 0x3f81, 0x4380, 0x4381, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fd2, 0xffff, 0x7f81};

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T awkward(std::mt19937_64& random) {
    const auto pick = [&](const auto& table) { return std::bit_cast<T>(table[random() % std::size(table)]); };
    if constexpr (std::same_as<T, float>) return pick(awkward_f32);
    else if constexpr (std::same_as<T, double>) return pick(awkward_f64);
    else if constexpr (std::same_as<T, float16>) return pick(awkward_f16);
    else if constexpr (std::same_as<T, bfloat16>) return pick(awkward_bf16);
    else {
        using limits = std::numeric_limits<T>;
        const T table[] = {0, 1, static_cast<T>(-1), limits::min(), limits::max(), static_cast<T>(limits::min() + 1),
                           static_cast<T>(limits::max() / 2 + 1)};
        return table[random() % std::size(table)];
    }
}

template <class T>
T ordinary(std::mt19937_64& random) {
    const double value = std::uniform_real_distribution<>(-100, 100)(random);
    if constexpr (std::floating_point<T>) return static_cast<T>(value);
    else if constexpr (std::integral<T>) return static_cast<T>(static_cast<int>(value));
    else return T(static_cast<float>(value));
}

template <class T>
T simple_sample(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0: return awkward<T>(random);
        case 1: return ordinary<T>(random);
        default: return std::bit_cast<T>(static_cast<bits_of<T>>(random()));
    }
}

template <class T>
T sample(std::mt19937_64& random) {
    if constexpr (std::same_as<T, truth>) {
        return {static_cast<std::uint8_t>(random() % 8 == 0 ? random() : random() % 2)};  // mostly what a bool holds
    } else if constexpr (is_complex(data_type_of<T>)) {
        const auto real = sample<typename T::value_type>(random);
        return {real, sample<typename T::value_type>(random)};
    } else {
        return simple_sample<T>(random);
    }
}

/// `count` samples of `type`, `offset` elements past a 64-byte boundary, between bytes that no kernel may touch. Copies are laid out alike.
class block {
public:
    block(data_type type, std::size_t count, std::size_t offset, std::mt19937_64& random)
        : offset_bytes_(margin_bytes + offset * size_of(type)), lines_((offset_bytes_ + count * size_of(type)) / sizeof(line) + 2) {
        visit(type, [&]<class T> {
            for (std::size_t i = 0; i < count; ++i) static_cast<T*>(data())[i] = sample<T>(random);
        });
    }

    void* data() noexcept { return reinterpret_cast<std::byte*>(lines_.data()) + offset_bytes_; }
    friend bool operator==(const block& a, const block& b) noexcept {
        return std::memcmp(a.lines_.data(), b.lines_.data(), a.lines_.size() * sizeof(line)) == 0;
    }

private:
    struct alignas(64) line {
        unsigned char bytes[64] = {0xa5, 0x5a, 0xa5};
    };
    static constexpr std::size_t margin_bytes = sizeof(line);

    std::size_t offset_bytes_;
    std::vector<line> lines_;
};

}  // namespace tutti::test
