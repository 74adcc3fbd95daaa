// The vocabulary every other header shares: ranks, element types, operators, sizes, borrowed buffers.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tutti {

/// A process of a group, 0 to size - 1.
using rank = int;

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;
inline constexpr std::size_t GiB = 1024 * MiB;

/// IEEE 754 binary16, as storage. Arithmetic is done in float; conversion rounds to nearest even and keeps subnormals and NaN.
struct float16 {
    std::uint16_t bits = 0;

    float16() = default;
    explicit float16(float value) noexcept;
    explicit operator float() const noexcept;
    friend bool operator==(float16, float16) = default;  // of the bits
};

/// The upper half of a float (bfloat16), as storage; same rules as float16.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    explicit bfloat16(float value) noexcept;
    explicit operator float() const noexcept;
    friend bool operator==(bfloat16, bfloat16) = default;  // of the bits
};

enum class data_type : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64 };
inline constexpr int data_type_count = 10;

/// How two elements become one. `avg` is the sum divided by the number of ranks, once, at the end; see docs/numerics.md.
enum class reduce_op : std::uint8_t { sum, prod, min, max, avg };
inline constexpr int reduce_op_count = 5;
using enum reduce_op;

/// Bytes of one element.
constexpr std::size_t size_of(data_type type) noexcept {
    constexpr std::size_t sizes[data_type_count] = {4, 8, 2, 2, 1, 1, 4, 4, 8, 8};
    return sizes[static_cast<int>(type)];
}
constexpr std::string_view name(data_type type) noexcept {
    constexpr std::string_view names[data_type_count] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64"};
    return names[static_cast<int>(type)];
}
constexpr std::string_view name(reduce_op op) noexcept {
    constexpr std::string_view names[reduce_op_count] = {"sum", "prod", "min", "max", "avg"};
    return names[static_cast<int>(op)];
}

namespace detail {
template <class T>
consteval int type_index() {
    if constexpr (std::is_same_v<T, float>) return 0;
    else if constexpr (std::is_same_v<T, double>) return 1;
    else if constexpr (std::is_same_v<T, float16>) return 2;
    else if constexpr (std::is_same_v<T, bfloat16>) return 3;
    else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) return -1;
    else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? 4 : 5;
    else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? 6 : 7;
    else if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? 8 : 9;
    else return -1;
}
}  // namespace detail

/// A C++ type that has a data_type. `bool` has none: what its sum should mean is not agreed in the field.
template <class T>
concept element = detail::type_index<std::remove_cv_t<T>>() >= 0;

template <element T>
inline constexpr data_type type_of = static_cast<data_type>(detail::type_index<std::remove_cv_t<T>>());

/// Borrowed memory whose element type is known only at run time. `count` is elements, not bytes.
struct const_buffer {
    const void* data = nullptr;
    std::size_t count = 0;
    data_type type = data_type::f32;

    constexpr const_buffer() = default;
    constexpr const_buffer(const void* where, std::size_t elements, data_type what) noexcept : data(where), count(elements), type(what) {}
    template <element T>
    constexpr const_buffer(std::span<T> values) noexcept : data(values.data()), count(values.size()), type(type_of<T>) {}
    constexpr std::size_t bytes() const noexcept { return count * size_of(type); }
};
struct buffer {
    void* data = nullptr;
    std::size_t count = 0;
    data_type type = data_type::f32;

    constexpr buffer() = default;
    constexpr buffer(void* where, std::size_t elements, data_type what) noexcept : data(where), count(elements), type(what) {}
    template <element T>
        requires(!std::is_const_v<T>)
    constexpr buffer(std::span<T> values) noexcept : data(values.data()), count(values.size()), type(type_of<T>) {}
    constexpr operator const_buffer() const noexcept { return {data, count, type}; }
    constexpr std::size_t bytes() const noexcept { return count * size_of(type); }
};

using duration = std::chrono::nanoseconds;
/// Time on an event loop: steady, and virtual in tests.
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
inline constexpr time_point no_deadline = time_point::max();

}  // namespace tutti
