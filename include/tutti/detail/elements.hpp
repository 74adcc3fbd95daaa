// Arguments of the typed calls, and the compiler's message for wrong arguments.
#pragma once

#include <tutti/reduction.hpp>

#include <array>
#include <concepts>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

template <class>
inline constexpr bool never = false;

template <class T>
concept buffer_list = std::convertible_to<T, std::span<const buffer>>;
/// Memory whose element type is known at run time only: a buffer, a type that converts to one, or a list of buffers.
template <class T>
concept untyped = buffer_list<T> ||(!std::ranges::range<T> && (std::convertible_to<T, buffer> || std::convertible_to<T, const_buffer>));
/// Any other type. The typed calls take all of these, so that a mistake gives one sentence and not a list of unsuitable overloads.
template <class T>
concept offered = !untyped<T>;

template <class Range>
using element_of = std::remove_cv_t<std::ranges::range_value_t<Range>>;
template <class Range>
concept bits = std::ranges::range<Range> && !std::ranges::contiguous_range<Range> && std::same_as<bool, element_of<Range>>;
/// A vector, array or span of elements that outlives the call: an lvalue, or a view.
template <class Range>
concept readable = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> && std::ranges::borrowed_range<Range> &&
    transferable<element_of<Range>>;
template <class Range>
concept writable = readable<Range> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// Says why Range is not `readable`, if it is not.
template <class Range>
constexpr void check_readable() noexcept {
    using T = std::remove_cvref_t<Range>;
    if constexpr (readable<Range>) return;
    else if constexpr (bits<Range>)
        static_assert(never<Range>,
                      "the elements of a std::vector<bool> are bits, not bools in memory: use a std::vector<char> or an array of bool");
    else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>)
        static_assert(never<Range>, "a pointer does not tell how many elements there are: pass std::span(pointer, count)");
    else if constexpr (!std::ranges::range<Range>)
        static_assert(never<Range>, "this is no vector, array or span: for a single value, pass std::span(&value, 1)");
    else if constexpr (!std::ranges::contiguous_range<Range> || !std::ranges::sized_range<Range>)
        static_assert(never<Range>, "the elements must lie behind each other in memory, as those of a vector, an array or a span do");
    else if constexpr (!std::ranges::borrowed_range<Range>)
        static_assert(never<Range>, "this is a temporary, whose memory would be gone before the operation ends: give it a name");
    else if constexpr (names_memory<element_of<Range>>)
        static_assert(never<Range>,
                      "the elements are pointers, views or buffers, which mean nothing on another rank: send what they refer to");
    else
        static_assert(never<Range>,
                      "the elements are not trivially copyable, so their bytes mean nothing on another rank: send what they hold");
}
template <class Range>
constexpr void check_writable() noexcept {
    check_readable<Range>();
    if constexpr (readable<Range>) static_assert(writable<Range>, "the output is const: the operation writes to it");
}
template <class One, class Other>
constexpr void check_alike() noexcept {
    if constexpr (readable<One> && readable<Other>)
        static_assert(std::same_as<element_of<One>, element_of<Other>>,
                      "the element types differ: all buffers of a call have one element type");
}

template <class Range>
const_buffer reading(std::remove_reference_t<Range>& from) noexcept {
    check_readable<Range>();
    if constexpr (readable<Range>) return std::span<const element_of<Range>>(std::ranges::data(from), std::ranges::size(from));
    else return {};
}
template <class Range>
buffer writing(std::remove_reference_t<Range>& to) noexcept {
    check_writable<Range>();
    if constexpr (writable<Range>) return std::span<element_of<Range>>(std::ranges::data(to), std::ranges::size(to));
    else return {};
}
/// Returns the output buffer, whose elements have the type of those of Other, an argument of this call.
template <class Range, class Other>
buffer writing_like(std::remove_reference_t<Range>& to) noexcept {
    check_alike<Range, Other>();
    return writing<Range>(to);
}

/// Returns the single buffer of a call with a list of buffers, typed or not.
template <class From>
const_buffer input(std::remove_reference_t<From>& from) noexcept {
    if constexpr (offered<From>) return reading<From>(from);
    else if constexpr (std::convertible_to<From, const_buffer>) return from;
    else static_assert(never<From>, "the input is a list of buffers, where a single buffer is expected");
    return {};
}
template <class To>
buffer output(std::remove_reference_t<To>& to) noexcept {
    if constexpr (offered<To>) return writing<To>(to);
    else if constexpr (std::convertible_to<To, buffer>) return to;
    else if constexpr (buffer_list<To>) static_assert(never<To>, "the output is a list of buffers, where a single buffer is expected");
    else static_assert(never<To>, "the output is const: the operation writes to it");
    return {};
}

template <class Op>
inline constexpr bool is_user_op = std::derived_from<Op, user_op>;

/// Returns Op as the reduction of Range's elements.
template <class Range, class Op>
constexpr reduction reducing(Op&& op) noexcept {
    using Plain = std::remove_cvref_t<Op>;
    constexpr bool is_operator = std::convertible_to<Op, reduction>;
    if constexpr (!is_operator && is_user_op<Plain>)
        static_assert(never<Op>, "this operator is a temporary, which would be gone before the operation ends: give it a name");
    else if constexpr (!is_operator)
        static_assert(never<Op>,
                      "this is no operator: pass tutti::sum or another of the library's, or make a tutti::custom_op of a function");
    else if constexpr (!readable<Range>) return reduce_op::sum;  // which has been reported
    else if constexpr (combines<element_of<Range>, Plain>) return std::forward<Op>(op);
    else if constexpr (is_user_op<Plain>)
        static_assert(never<Op>, "this custom_op combines elements of another type than those of the buffers");
    else static_assert(never<Op>, "this operator is not defined for this element type: see docs/numerics.md");
    return reduce_op::sum;
}
template <class Range, class Op>
constexpr reduction scanning(Op&& op) noexcept {
    static_assert(has_prefixes<std::remove_cvref_t<Op>>, "there is no avg of the ranks up to this one");
    return reducing<Range>(std::forward<Op>(op));
}

}  // namespace detail

/// Returns vectors, arrays and spans of one element type as a list of buffers.
template <class First, class... Others>
std::array<buffer, 1 + sizeof...(Others)> buffers(First&& first, Others&&... others) noexcept {
    return {detail::writing<First>(first), detail::writing_like<Others, First>(others)...};
}

}  // namespace tutti
