// Operators of reducing calls: one of the library, a sum of scaled elements, or a user-defined function.
#pragma once

#include <tutti/types.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {

/// Sums the ranks' elements, each multiplied before by its own rank's factor. For floating and complex types; see docs/numerics.md.
class premul_sum {
public:
    explicit constexpr premul_sum(double factor) noexcept : factor_(factor) {}
    constexpr double factor() const noexcept { return factor_; }

private:
    double factor_;
};

/// Says whether `f(a, b)` equals `f(b, a)`, bit for bit. `no` keeps the order of ranks, f(f(0, 1), 2) or f(0, f(1, 2)), and is slower for
/// large vectors. In both cases the operator must be associative, as far as its rounding allows.
enum class commutes : bool { no, yes };

namespace detail {

/// The engine's view of a custom_op or untyped_op.
class user_op {
public:
    user_op(const user_op&) = delete;
    user_op& operator=(const user_op&) = delete;

    const std::string& name() const noexcept { return name_; }
    /// Hash of name and order, which must be equal on all ranks.
    std::uint64_t digest() const noexcept { return digest_; }
    bool commutes() const noexcept { return commutes_ == tutti::commutes::yes; }
    data_type type() const noexcept { return type_; }
    std::size_t element_bytes() const noexcept { return element_bytes_; }
    std::size_t alignment() const noexcept { return alignment_; }
    /// Returns the bytes of the neutral element; empty if the user has not given one.
    std::span<const std::byte> identity() const noexcept { return identity_; }

    /// Sets target[i] = first[i] op second[i]; `target` may be `first` or `second`. Throws what the user's function throws.
    virtual void combine(void* target, const void* first, const void* second, std::size_t count) const = 0;

protected:
    /// Sets each inout[i] to left[i] op inout[i].
    using onto_right = std::function<void(const void* left, void* inout, std::size_t count)>;

    user_op(std::string name, tutti::commutes order, data_type type, std::size_t element_bytes, std::size_t alignment,
            std::span<const std::byte> identity);
    ~user_op() = default;

    /// Does what `combine` does, by means of such a function.
    void combine_by(const onto_right& function, void* target, const void* first, const void* second, std::size_t count) const;

private:
    std::string name_;
    tutti::commutes commutes_;
    data_type type_;
    std::size_t element_bytes_;
    std::size_t alignment_;
    std::vector<std::byte> identity_;
    std::uint64_t digest_;
};

}  // namespace detail

/// A user-defined operator, made once and used in many calls. Like a buffer it is borrowed: it lives until the futures of its calls end.
///
///     const tutti::custom_op<extreme> largest("largest", tutti::commutes::yes, [](const extreme& a, const extreme& b) { ... });
///     co_await world.all_reduce(mine, largest);
///
/// The function is `T(const T& left, const T& right)`, or `void(std::span<const T> left, std::span<T> inout)`. The second form sets each
/// inout[i] to left[i] op inout[i], and gets arbitrary pieces of a vector. The function is called as const, on the thread that makes
/// progress, which may be the caller's own while it waits, and on several such threads if contexts share it. The communicator's lock is held
/// meanwhile, so it is quick and does not call the communicator. If it throws, the communicator fails on all ranks with error::aborted,
/// naming the rank and what().
///
/// `identity` is a neutral element, on both sides. Only exclusive_scan needs it, for rank 0.
///
/// Name, order and type are the same on all ranks; otherwise the call is error::mismatch. The user guarantees that functions and identities
/// are the same too.
template <transferable T>
    requires(!std::is_const_v<T> && alignof(T) <= alignof(std::max_align_t))
class custom_op final : public detail::user_op {
public:
    template <std::copy_constructible Combine>
        requires(std::is_invocable_r_v<T, const Combine&, const T&, const T&>)
    custom_op(std::string name, tutti::commutes order, Combine function, std::optional<T> identity = std::nullopt)
        : custom_op(std::move(name), order, identity) {
        pieces_ = [function = std::move(function)](T* target, const T* first, const T* second, std::size_t count) {
            for (std::size_t index = 0; index < count; ++index) target[index] = function(first[index], second[index]);
        };
    }
    template <std::copy_constructible Combine>
        requires(!std::is_invocable_r_v<T, const Combine&, const T&, const T&> &&  // tested first: its body may compile with elements only
                 std::is_invocable_v<const Combine&, std::span<const T>, std::span<T>>)
    custom_op(std::string name, tutti::commutes order, Combine function, std::optional<T> identity = std::nullopt)
        : custom_op(std::move(name), order, identity) {
        onto_right onto = [function = std::move(function)](const void* left, void* inout, std::size_t count) {
            function(std::span<const T>(static_cast<const T*>(left), count), std::span<T>(static_cast<T*>(inout), count));
        };
        pieces_ = [this, onto = std::move(onto)](T* target, const T* first, const T* second, std::size_t count) {
            combine_by(onto, target, first, second, count);
        };
    }

    /// For the library.
    void combine(void* target, const void* first, const void* second, std::size_t count) const override {
        pieces_(static_cast<T*>(target), static_cast<const T*>(first), static_cast<const T*>(second), count);
    }

private:
    custom_op(std::string name, tutti::commutes order, const std::optional<T>& identity)
        : user_op(std::move(name), order, type_of<T>, sizeof(T), alignof(T),
                  identity ? std::as_bytes(std::span(&*identity, 1)) : std::span<const std::byte>()) {}

    std::function<void(T*, const T*, const T*, std::size_t)> pieces_;
};

/// An operator for elements whose type is known at run time only, as in bindings for other languages. It serves calls with a buffer of that
/// type or size, and typed calls.
///
///     const tutti::untyped_op longest("longest", tutti::commutes::yes, 12, 4,
///                                     [](const void* left, void* inout, std::size_t count) { ... });
///     co_await world.all_reduce(tutti::buffer(data, count, 12), longest);
///
/// The function sets each of the `count` elements of `inout` to (that of `left`) op (that of `inout`). All else is as in custom_op.
class untyped_op final : public detail::user_op {
public:
    using function = std::function<void(const void* left, void* inout, std::size_t count)>;

    /// For elements of `element_bytes` bytes, at addresses that are multiples of `alignment`. `identity`, if given, is one element, and is
    /// copied. Throws error::invalid_argument for sizes that no C++ element has, and for an empty function.
    untyped_op(std::string name, tutti::commutes order, std::size_t element_bytes, std::size_t alignment, function combine,
               std::span<const std::byte> identity = {});
    /// For elements of a data_type other than `opaque`.
    untyped_op(std::string name, tutti::commutes order, data_type type, function combine, std::span<const std::byte> identity = {});

    /// For the library.
    void combine(void* target, const void* first, const void* second, std::size_t count) const override {
        combine_by(function_, target, first, second, count);
    }

private:
    void check() const;

    function function_;
};

/// Any operator, as a small value: `sum`, a reduce_op, premul_sum(0.25), a custom_op, an untyped_op.
class reduction {
public:
    constexpr reduction(reduce_op op) noexcept : kind_(op) {}
    template <reduce_op Op>
    constexpr reduction(op_constant<Op>) noexcept : kind_(Op) {}
    constexpr reduction(premul_sum scaled) noexcept : kind_(reduce_op::premul), factor_(scaled.factor()) {}
    template <std::derived_from<detail::user_op> Op>
    constexpr reduction(const Op& op) noexcept : kind_(reduce_op::custom),
                                                 user_(&op) {}
    template <std::derived_from<detail::user_op> Op>
    reduction(const Op&&) = delete;  // it would be destroyed before the operation ends

    constexpr reduce_op kind() const noexcept { return kind_; }
    constexpr double factor() const noexcept { return factor_; }              // of premul
    constexpr const detail::user_op* user() const noexcept { return user_; }  // of custom
    /// Returns whether contributions must be combined in the order of ranks.
    constexpr bool ordered() const noexcept { return user_ && !user_->commutes(); }
    constexpr std::uint64_t digest() const noexcept { return user_ ? user_->digest() : 0; }

    friend constexpr bool operator==(const reduction&, const reduction&) = default;

private:
    reduce_op kind_;
    double factor_ = 1;
    const detail::user_op* user_ = nullptr;
};

namespace detail {

/// Is true unless the type of Op shows that it does not combine elements of T.
template <class T, class Op>
inline constexpr bool combines = true;
template <class T>
inline constexpr bool combines<T, reduce_op> = element<T>;
template <class T, reduce_op Op>
inline constexpr bool combines<T, op_constant<Op>> = defined(Op, type_of<T>);
template <class T>
inline constexpr bool combines<T, premul_sum> = defined(reduce_op::premul, type_of<T>);
template <class T, class Other>
inline constexpr bool combines<T, custom_op<Other>> = std::same_as<T, Other>;

/// Is true unless the type of Op shows that it has no scans.
template <class Op>
inline constexpr bool has_prefixes = !std::same_as<Op, op_constant<reduce_op::avg>>;

}  // namespace detail

}  // namespace tutti
