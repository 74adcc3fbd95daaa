// Results of operations that do not throw.
#pragma once

#include <tutti/error.hpp>

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace [[gnu::visibility("default")]] tutti {

/// A value, or the failure that came in its place.
template <class T = void>
class [[nodiscard]] result {
public:
    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    /// Takes a value that converts to T: for example a pointer to a derived class, where T points to its base.
    template <class U>
        requires(!std::same_as<std::remove_cvref_t<U>, T> && !std::same_as<std::remove_cvref_t<U>, result> && std::convertible_to<U, T> &&
                 !std::convertible_to<U, tutti::failure>)
    result(U&& value) : state_(std::in_place_index<0>, static_cast<U&&>(value)) {}
    result(tutti::failure why) : state_(std::in_place_index<1>, std::move(why)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /// Returns the value; throws the failure if there is none.
    T& value() & {
        if (!has_value()) throw std::get<1>(state_);
        return std::get<0>(state_);
    }
    const T& value() const& {
        if (!has_value()) throw std::get<1>(state_);
        return std::get<0>(state_);
    }
    T&& value() && { return std::move(value()); }
    T& operator*() noexcept { return *std::get_if<0>(&state_); }
    const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    const T* operator->() const noexcept { return std::get_if<0>(&state_); }
    /// Returns the failure. Only if there is no value.
    const tutti::failure& failure() const noexcept { return *std::get_if<1>(&state_); }

private:
    std::variant<T, tutti::failure> state_;
};

/// Success, or a failure.
template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(tutti::failure why) : failure_(std::move(why)) {}

    bool has_value() const noexcept { return !failure_; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (failure_) throw *failure_;
    }
    const tutti::failure& failure() const noexcept { return *failure_; }

private:
    std::optional<tutti::failure> failure_;
};

}  // namespace tutti
