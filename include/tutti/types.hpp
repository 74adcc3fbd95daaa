// Types that all other headers share: ranks, element types, operators, sizes, borrowed buffers.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <bit>
#include <chrono>
#include <complex>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace [[gnu::visibility("default")]] tutti {

/// A process of a group, numbered from 0 to size - 1.
using rank = int;

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;
inline constexpr std::size_t GiB = 1024 * MiB;

/// IEEE 754 binary16, as storage. Arithmetic uses float; conversion rounds to nearest even and keeps subnormals and NaN.
struct float16 {
    std::uint16_t bits = 0;

    float16() = default;
    explicit float16(float value) noexcept;
    explicit operator float() const noexcept;
    friend bool operator==(float16, float16) = default;  // compares bits
};

/// The upper half of a float (bfloat16), as storage, with the rules of float16.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    explicit bfloat16(float value) noexcept;
    explicit operator float() const noexcept;
    friend bool operator==(bfloat16, bfloat16) = default;  // compares bits
};

/// Element types. `boolean` is bool, one byte; `cf32` and `cf64` are std::complex of float and double. `opaque` elements have any size and
/// are moved unchanged; only a custom_op or untyped_op combines them. The numbers go over the wire and into files: new types are only
/// appended.
enum class data_type : std::uint8_t {
    f32 = 0,
    f64 = 1,
    f16 = 2,
    bf16 = 3,
    i8 = 4,
    u8 = 5,
    i32 = 6,
    u32 = 7,
    i64 = 8,
    u64 = 9,
    i16 = 10,
    u16 = 11,
    boolean = 12,
    cf32 = 13,
    cf64 = 14,
    opaque = 15,
};
inline constexpr int data_type_count = 16;

/// Operators, which combine two elements into one. `avg` is the sum, divided once, at the end, by the number of ranks. premul_sum makes
/// `premul` (alone it has the factor 1); custom_op and untyped_op make `custom` (reduction.hpp). The rules are in docs/numerics.md. The
/// numbers go over the wire and into files: new operators are only appended.
enum class reduce_op : std::uint8_t {
    sum = 0,
    prod = 1,
    min = 2,
    max = 3,
    avg = 4,
    band = 5,
    bor = 6,
    bxor = 7,
    premul = 8,
    custom = 9,
};
inline constexpr int reduce_op_count = 10;

/// An operator as a type, so that an operator not defined for an element type does not compile. Converts to a reduce_op.
template <reduce_op Op>
struct op_constant {
    constexpr operator reduce_op() const noexcept { return Op; }
};
inline constexpr op_constant<reduce_op::sum> sum{};
inline constexpr op_constant<reduce_op::prod> prod{};
inline constexpr op_constant<reduce_op::min> min{};
inline constexpr op_constant<reduce_op::max> max{};
inline constexpr op_constant<reduce_op::avg> avg{};
inline constexpr op_constant<reduce_op::band> band{};
inline constexpr op_constant<reduce_op::bor> bor{};
inline constexpr op_constant<reduce_op::bxor> bxor{};

/// Returns the bytes of one element; 0 for `opaque`, whose size only the caller knows.
constexpr std::size_t size_of(data_type type) noexcept {
    constexpr std::size_t sizes[data_type_count] = {4, 8, 2, 2, 1, 1, 4, 4, 8, 8, 2, 2, 1, 8, 16, 0};
    return static_cast<int>(type) < data_type_count ? sizes[static_cast<int>(type)] : 0;
}
constexpr std::string_view name(data_type type) noexcept {
    constexpr std::string_view names[data_type_count] = {"f32", "f64", "f16", "bf16", "i8",   "u8",   "i32",  "u32",
                                                         "i64", "u64", "i16", "u16",  "bool", "cf32", "cf64", "opaque"};
    return static_cast<int>(type) < data_type_count ? names[static_cast<int>(type)] : "of no type";
}
constexpr std::string_view name(reduce_op op) noexcept {
    constexpr std::string_view names[reduce_op_count] = {"sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "premul", "custom"};
    return static_cast<int>(op) < reduce_op_count ? names[static_cast<int>(op)] : "no operator";
}

/// Returns whether the type is one of real, complex or whole numbers; `boolean` and `opaque` are none.
constexpr bool is_floating(data_type type) noexcept { return type <= data_type::bf16; }
constexpr bool is_complex(data_type type) noexcept { return type == data_type::cf32 || type == data_type::cf64; }
constexpr bool is_integer(data_type type) noexcept { return type >= data_type::i8 && type <= data_type::u16; }

/// Returns whether an operator of the library combines elements of this type; false for `custom`, whose object knows.
constexpr bool defined(reduce_op op, data_type type) noexcept {
    switch (op) {
        case reduce_op::sum:
        case reduce_op::prod: return type < data_type::opaque;
        case reduce_op::min:
        case reduce_op::max: return is_floating(type) || is_integer(type) || type == data_type::boolean;
        case reduce_op::avg: return is_floating(type) || is_integer(type) || is_complex(type);
        case reduce_op::premul: return is_floating(type) || is_complex(type);
        case reduce_op::band:
        case reduce_op::bor:
        case reduce_op::bxor: return is_integer(type) || type == data_type::boolean;
        case reduce_op::custom: break;
    }
    return false;
}

namespace detail {
template <class T>
consteval int type_index() {
    if constexpr (std::is_same_v<T, float>) return 0;
    else if constexpr (std::is_same_v<T, double>) return 1;
    else if constexpr (std::is_same_v<T, float16>) return 2;
    else if constexpr (std::is_same_v<T, bfloat16>) return 3;
    else if constexpr (std::is_same_v<T, bool>) return 12;
    else if constexpr (std::is_same_v<T, std::complex<float>>) return 13;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return 14;
    else if constexpr (!std::is_integral_v<T>) return -1;
    else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? 4 : 5;
    else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? 10 : 11;
    else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? 6 : 7;
    else if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? 8 : 9;
    else return -1;
}
}  // namespace detail

/// A C++ type that has a data_type of its own.
template <class T>
concept element = detail::type_index<std::remove_cv_t<T>>() >= 0;

struct buffer;
struct const_buffer;
struct transfer;

namespace detail {
/// Is true of types that hold an address of this process, in any form.
template <class T>
inline constexpr bool names_memory =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_reference_v<T> || std::ranges::enable_view<T>;
template <>
inline constexpr bool names_memory<buffer> = true;
template <>
inline constexpr bool names_memory<const_buffer> = true;
template <>
inline constexpr bool names_memory<transfer> = true;
template <class T>
inline constexpr bool names_memory<std::reference_wrapper<T>> = true;
template <class Promise>
inline constexpr bool names_memory<std::coroutine_handle<Promise>> = true;
}  // namespace detail

/// A C++ type whose bytes mean the same on another rank, as far as its declaration shows: no pointer, view or buffer. One that is no
/// `element` is sent as `opaque`.
template <class T>
concept transferable = element<T> ||(std::is_trivially_copyable_v<T> && !detail::names_memory<std::remove_cv_t<T>> &&
                                     sizeof(T) <= std::numeric_limits<std::uint32_t>::max());

template <transferable T>
inline constexpr data_type type_of = element<T> ? static_cast<data_type>(detail::type_index<std::remove_cv_t<T>>()) : data_type::opaque;

/// Borrowed memory whose element type is known only at run time. `count` is elements, not bytes.
struct const_buffer {
    const void* data = nullptr;
    std::size_t count = 0;
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;  // of one element, if the type is opaque

    constexpr const_buffer() = default;
    constexpr const_buffer(const void* where, std::size_t elements, data_type what) noexcept : data(where), count(elements), type(what) {}
    /// For opaque elements of `element_bytes` bytes each.
    constexpr const_buffer(const void* where, std::size_t elements, std::size_t element_bytes) noexcept
        : data(where),
          count(elements),
          type(data_type::opaque),
          opaque_bytes(element_bytes) {}
    template <transferable T, std::size_t Extent>
    constexpr const_buffer(std::span<T, Extent> values) noexcept
        : data(values.data()),
          count(values.size()),
          type(type_of<T>),
          opaque_bytes(element<T> ? 0 : sizeof(T)) {}
    constexpr std::size_t element_bytes() const noexcept { return type == data_type::opaque ? opaque_bytes : size_of(type); }
    constexpr std::size_t bytes() const noexcept { return count * element_bytes(); }
};

/// Like const_buffer, for memory that is written.
struct buffer {
    void* data = nullptr;
    std::size_t count = 0;
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;

    constexpr buffer() = default;
    constexpr buffer(void* where, std::size_t elements, data_type what) noexcept : data(where), count(elements), type(what) {}
    constexpr buffer(void* where, std::size_t elements, std::size_t element_bytes) noexcept
        : data(where),
          count(elements),
          type(data_type::opaque),
          opaque_bytes(element_bytes) {}
    template <transferable T, std::size_t Extent>
        requires(!std::is_const_v<T>)
    constexpr buffer(std::span<T, Extent> values) noexcept
        : data(values.data()),
          count(values.size()),
          type(type_of<T>),
          opaque_bytes(element<T> ? 0 : sizeof(T)) {}
    constexpr operator const_buffer() const noexcept {
        const_buffer same(data, count, type);
        same.opaque_bytes = opaque_bytes;
        return same;
    }
    constexpr std::size_t element_bytes() const noexcept { return const_buffer(*this).element_bytes(); }
    constexpr std::size_t bytes() const noexcept { return count * element_bytes(); }
};

using duration = std::chrono::nanoseconds;
/// Time on an event loop: steady, and virtual in tests.
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
inline constexpr time_point no_deadline = time_point::max();
/// Returns twice `time`, at most duration::max().
constexpr duration twice(duration time) noexcept { return time <= duration::max() / 2 ? 2 * time : duration::max(); }
/// Returns `when` plus `within`; `no_deadline` if that is beyond all dates.
constexpr time_point later(time_point when, duration within) noexcept { return within < no_deadline - when ? when + within : no_deadline; }

}  // namespace tutti
