// Types that all other headers share: ranks, element types, operators, sizes, borrowed buffers.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <chrono>
#include <complex>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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
/// appended, here and to detail::data_types.
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

/// Operators, which combine two elements into one. `avg` is the sum, divided once, at the end, by the number of ranks. premul_sum makes
/// `premul` (alone it has the factor 1); custom_op and untyped_op make `custom` (reduction.hpp). The rules are in docs/numerics.md. The
/// numbers go over the wire and into files: new operators are only appended, here and to detail::reduce_ops.
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

namespace detail {

/// Kinds of elements, as bits: an operator may combine several kinds.
struct kinds {
    static constexpr unsigned none = 0, floating = 1, integer = 2, truth = 4, complex = 8;
};

/// Its address stands for the type T in a table.
template <class T>
inline constexpr char mark_of{};

struct data_type_row {
    data_type type;
    std::string_view name;
    unsigned kind;
    std::size_t bytes;
    bool has_sign;
    const char* mark;
};
template <class T>
consteval data_type_row row_of(data_type type, std::string_view name, unsigned kind) {
    return {type, name, kind, sizeof(T), std::is_signed_v<T>, &mark_of<T>};
}
/// All that the library knows of a data_type, in the order of the numbers.
inline constexpr data_type_row data_types[] = {
    row_of<float>(data_type::f32, "f32", kinds::floating),
    row_of<double>(data_type::f64, "f64", kinds::floating),
    row_of<float16>(data_type::f16, "f16", kinds::floating),
    row_of<bfloat16>(data_type::bf16, "bf16", kinds::floating),
    row_of<std::int8_t>(data_type::i8, "i8", kinds::integer),
    row_of<std::uint8_t>(data_type::u8, "u8", kinds::integer),
    row_of<std::int32_t>(data_type::i32, "i32", kinds::integer),
    row_of<std::uint32_t>(data_type::u32, "u32", kinds::integer),
    row_of<std::int64_t>(data_type::i64, "i64", kinds::integer),
    row_of<std::uint64_t>(data_type::u64, "u64", kinds::integer),
    row_of<std::int16_t>(data_type::i16, "i16", kinds::integer),
    row_of<std::uint16_t>(data_type::u16, "u16", kinds::integer),
    row_of<bool>(data_type::boolean, "bool", kinds::truth),
    row_of<std::complex<float>>(data_type::cf32, "cf32", kinds::complex),
    row_of<std::complex<double>>(data_type::cf64, "cf64", kinds::complex),
    {data_type::opaque, "opaque", kinds::none, 0, false, nullptr},
};

struct reduce_op_row {
    reduce_op op;
    std::string_view name;
    unsigned kinds;  // that an operator of the library combines; none for `custom`, whose object knows
};
/// All that this header knows of a reduce_op, in the order of the numbers.
inline constexpr reduce_op_row reduce_ops[] = {
    {reduce_op::sum, "sum", kinds::floating | kinds::integer | kinds::truth | kinds::complex},
    {reduce_op::prod, "prod", kinds::floating | kinds::integer | kinds::truth | kinds::complex},
    {reduce_op::min, "min", kinds::floating | kinds::integer | kinds::truth},
    {reduce_op::max, "max", kinds::floating | kinds::integer | kinds::truth},
    {reduce_op::avg, "avg", kinds::floating | kinds::integer | kinds::complex},
    {reduce_op::band, "band", kinds::integer | kinds::truth},
    {reduce_op::bor, "bor", kinds::integer | kinds::truth},
    {reduce_op::bxor, "bxor", kinds::integer | kinds::truth},
    {reduce_op::premul, "premul", kinds::floating | kinds::complex},
    {reduce_op::custom, "custom", kinds::none},
};

}  // namespace detail

inline constexpr int data_type_count = static_cast<int>(std::size(detail::data_types));
inline constexpr int reduce_op_count = static_cast<int>(std::size(detail::reduce_ops));

namespace detail {

consteval bool in_order() {
    for (int index = 0; index < data_type_count; ++index)
        if (static_cast<int>(data_types[index].type) != index) return false;
    for (int index = 0; index < reduce_op_count; ++index)
        if (static_cast<int>(reduce_ops[index].op) != index) return false;
    return true;
}
static_assert(in_order(), "detail::data_types and detail::reduce_ops need a row for each enumerator, in the order of the numbers");
static_assert(data_type_count <= 32, "detail::type_set has a bit for each of 32 types");

using type_set = std::uint32_t;

/// Returns the types whose elements are of one of these kinds.
consteval type_set types_of(unsigned kinds) {
    type_set found = 0;
    for (int index = 0; index < data_type_count; ++index)
        if ((data_types[index].kind & kinds) != 0) found |= type_set{1} << index;
    return found;
}
constexpr bool is_among(type_set types, data_type type) noexcept {
    return static_cast<int>(type) < data_type_count && ((types >> static_cast<int>(type)) & 1) != 0;
}

/// The columns that functions read at run time, by number.
struct columns {
    std::size_t bytes[data_type_count];
    std::string_view type_names[data_type_count];
    std::string_view op_names[reduce_op_count];
    type_set combined[reduce_op_count];  // by the operator
};
consteval columns columns_of_rows() {
    columns made{};
    for (int index = 0; index < data_type_count; ++index) {
        made.bytes[index] = data_types[index].bytes;
        made.type_names[index] = data_types[index].name;
    }
    for (int index = 0; index < reduce_op_count; ++index) {
        made.op_names[index] = reduce_ops[index].name;
        made.combined[index] = types_of(reduce_ops[index].kinds);
    }
    return made;
}
[[gnu::visibility("hidden")]] inline constexpr columns by_number = columns_of_rows();

}  // namespace detail

/// Returns the bytes of one element; 0 for `opaque`, whose size only the caller knows.
constexpr std::size_t size_of(data_type type) noexcept {
    return static_cast<int>(type) < data_type_count ? detail::by_number.bytes[static_cast<int>(type)] : 0;
}
constexpr std::string_view name(data_type type) noexcept {
    return static_cast<int>(type) < data_type_count ? detail::by_number.type_names[static_cast<int>(type)] : "of no type";
}
constexpr std::string_view name(reduce_op op) noexcept {
    return static_cast<int>(op) < reduce_op_count ? detail::by_number.op_names[static_cast<int>(op)] : "no operator";
}

/// Returns whether the type is one of real, complex or whole numbers; `boolean` and `opaque` are none.
constexpr bool is_floating(data_type type) noexcept { return detail::is_among(detail::types_of(detail::kinds::floating), type); }
constexpr bool is_complex(data_type type) noexcept { return detail::is_among(detail::types_of(detail::kinds::complex), type); }
constexpr bool is_integer(data_type type) noexcept { return detail::is_among(detail::types_of(detail::kinds::integer), type); }

/// Returns whether an operator of the library combines elements of this type; false for `custom`, whose object knows.
constexpr bool defined(reduce_op op, data_type type) noexcept {
    return static_cast<int>(op) < reduce_op_count && detail::is_among(detail::by_number.combined[static_cast<int>(op)], type);
}

namespace detail {
/// Returns the number of T's data_type, or -1. Integers of one size and sign are one type, as long and long long may be.
template <class T>
consteval int type_index() {
    for (int index = 0; index < data_type_count; ++index) {
        const data_type_row& each = data_types[index];
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            if (each.kind == kinds::integer && each.bytes == sizeof(T) && each.has_sign == std::is_signed_v<T>) return index;
        } else if (each.mark == &mark_of<T>) {
            return index;
        }
    }
    return -1;
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
