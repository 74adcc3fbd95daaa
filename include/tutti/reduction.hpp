// What a reducing call does to two elements: an operator of the library, a sum of scaled elements, or a function of the user's.
#pragma once

#include <tutti/types.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {

/// The sum of every rank's elements, each multiplied by its own rank's factor before. For floating and complex types; see docs/numerics.md.
class premul_sum {
public:
    explicit constexpr premul_sum(double factor) noexcept : factor_(factor) {}
    constexpr double factor() const noexcept { return factor_; }

private:
    double factor_;
};

/// Whether `f(a, b)` is `f(b, a)`, bit for bit. `no` keeps the order of ranks, f(f(0, 1), 2) or f(0, f(1, 2)), and costs speed in large
/// vectors. Either way the operator must be associative, as far as its rounding lets it be.
enum class commutes : bool { no, yes };

namespace detail {

/// What the engine knows of a custom_op.
class user_op {
public:
    user_op(const user_op&) = delete;
    user_op& operator=(const user_op&) = delete;

    const std::string& name() const noexcept { return name_; }
    /// Of name and order: what the ranks must have alike.
    std::uint64_t digest() const noexcept { return digest_; }
    bool commutes() const noexcept { return commutes_ == tutti::commutes::yes; }
    data_type type() const noexcept { return type_; }
    std::size_t element_bytes() const noexcept { return element_bytes_; }
    std::size_t alignment() const noexcept { return alignment_; }

    /// target[i] = first[i] op second[i]; `target` may be `first` or `second`. Throws what the user's function throws.
    virtual void combine(void* target, const void* first, const void* second, std::size_t count) const = 0;

protected:
    user_op(std::string name, tutti::commutes order, data_type type, std::size_t element_bytes, std::size_t alignment);
    ~user_op() = default;

private:
    std::string name_;
    tutti::commutes commutes_;
    data_type type_;
    std::size_t element_bytes_;
    std::size_t alignment_;
    std::uint64_t digest_;
};

}  // namespace detail

/// An operator of the user's, made once and used in many calls. It is borrowed, like a buffer: it lives until the futures of its calls end.
///
///     const tutti::custom_op<extreme> largest("largest", tutti::commutes::yes, [](const extreme& a, const extreme& b) { ... });
///     co_await world.all_reduce(mine, largest);
///
/// The function is `T(const T& left, const T& right)`, or `void(std::span<const T> left, std::span<T> inout)`, which sets each inout[i] to
/// left[i] op inout[i] and sees any piece of a vector. It is called as const, on the thread that makes progress, and from several such
/// threads when contexts share it. It must not call the communicator, which waits for it. When it throws, the communicator fails on all
/// ranks with error::aborted, naming the rank and what().
///
/// The name, the order and the type are the same on all ranks, otherwise the call is error::mismatch; that the functions are the same
/// too is the user's promise.
template <transferable T>
    requires(!std::is_const_v<T> && alignof(T) <= alignof(std::max_align_t))
class custom_op final : public detail::user_op {
public:
    template <std::copy_constructible Combine>
        requires(std::is_invocable_r_v<T, const Combine&, const T&, const T&>)
    custom_op(std::string name, tutti::commutes order, Combine function) : custom_op(std::move(name), order) {
        pieces_ = [function = std::move(function)](T* target, const T* first, const T* second, std::size_t count) {
            for (std::size_t index = 0; index < count; ++index) target[index] = function(first[index], second[index]);
        };
    }
    template <std::copy_constructible Combine>
        requires(!std::is_invocable_r_v<T, const Combine&, const T&, const T&> &&  // which may be all that its body compiles with
                 std::is_invocable_v<const Combine&, std::span<const T>, std::span<T>>)
    custom_op(std::string name, tutti::commutes order, Combine function) : custom_op(std::move(name), order) {
        static_assert(sizeof(T) <= piece_bytes, "an operator on spans needs small elements; write it for two elements instead");
        pieces_ = [function = std::move(function)](T* target, const T* first, const T* second, std::size_t count) {
            by_pieces(function, target, first, second, count);
        };
    }

    void combine(void* target, const void* first, const void* second, std::size_t count) const override {
        pieces_(static_cast<T*>(target), static_cast<const T*>(first), static_cast<const T*>(second), count);
    }

private:
    static constexpr std::size_t piece_bytes = 4096;

    custom_op(std::string name, tutti::commutes order) : user_op(std::move(name), order, type_of<T>, sizeof(T), alignof(T)) {}

    // The right operand is overwritten, so it is copied first: to the target, or piece by piece where the left one lies there.
    template <class Combine>
    static void by_pieces(const Combine& function, T* target, const T* first, const T* second, std::size_t count) {
        if (target != first) {
            if (target != second) std::copy_n(second, count, target);
            function(std::span<const T>(first, count), std::span<T>(target, count));
            return;
        }
        alignas(T) std::byte memory[piece_bytes];
        T* const piece = reinterpret_cast<T*>(memory);
        for (std::size_t done = 0; done < count;) {
            const std::size_t next = std::min(count - done, piece_bytes / sizeof(T));
            std::memcpy(memory, static_cast<const void*>(second + done), next * sizeof(T));
            function(std::span<const T>(first + done, next), std::span<T>(piece, next));
            std::memcpy(static_cast<void*>(target + done), memory, next * sizeof(T));
            done += next;
        }
    }

    std::function<void(T*, const T*, const T*, std::size_t)> pieces_;
};

/// Any of these, as a small value: `sum`, a reduce_op, premul_sum(0.25), a custom_op.
class reduction {
public:
    constexpr reduction(reduce_op op) noexcept : kind_(op) {}
    template <reduce_op Op>
    constexpr reduction(op_constant<Op>) noexcept : kind_(Op) {}
    constexpr reduction(premul_sum scaled) noexcept : kind_(reduce_op::premul), factor_(scaled.factor()) {}
    template <class T>
    constexpr reduction(const custom_op<T>& op) noexcept : kind_(reduce_op::custom),
                                                           user_(&op) {}
    template <class T>
    reduction(const custom_op<T>&&) = delete;  // it would be gone before the operation ends

    constexpr reduce_op kind() const noexcept { return kind_; }
    constexpr double factor() const noexcept { return factor_; }              // of premul
    constexpr const detail::user_op* user() const noexcept { return user_; }  // of custom
    /// Whether contributions must be combined in the order of ranks.
    constexpr bool ordered() const noexcept { return user_ && !user_->commutes(); }
    constexpr std::uint64_t digest() const noexcept { return user_ ? user_->digest() : 0; }

    friend constexpr bool operator==(const reduction&, const reduction&) = default;

private:
    reduce_op kind_;
    double factor_ = 1;
    const detail::user_op* user_ = nullptr;
};

namespace detail {

/// Whether Op, as far as its type tells, combines elements of T.
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

/// Whether there are prefixes of Op, as far as its type tells.
template <class Op>
inline constexpr bool has_prefixes = !std::same_as<Op, op_constant<reduce_op::avg>>;

}  // namespace detail

}  // namespace tutti
