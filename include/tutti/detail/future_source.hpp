// Futures without an engine: a pair of a future, and a source that ends it.
#pragma once

#include <tutti/future.hpp>

#include <functional>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// A state of its own on the heap. Cancelling and abandoning call `on_cancel` once, on the calling thread.
template <class T>
class simple_state final : public state_of<T> {
public:
    explicit simple_state(std::function<void()> on_cancel) : on_cancel_(std::move(on_cancel)) {}

    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
    void cancel() noexcept override {
        if (!this->foreign() && !cancelled_.exchange(true, std::memory_order_acq_rel) && on_cancel_) on_cancel_();
    }
    void abandon() noexcept override { cancel(); }

private:
    void recycle() noexcept override { delete this; }

    std::function<void()> on_cancel_;
    std::atomic<bool> cancelled_{false};
};

/// Ends its future. If it is destroyed before, the future ends with error::cancelled.
template <class T = void>
class [[nodiscard]] future_source {
public:
    explicit future_source(simple_state<T>& state) noexcept : state_(&state) {}
    future_source(future_source&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    future_source& operator=(future_source&& other) noexcept {
        future_source(std::move(other)).swap(*this);
        return *this;
    }
    ~future_source() {
        if (state_) fail(tutti::failure(error::cancelled, "the one who was to end this future is gone"));
    }

    /// Ends the future, once, like `fail`. Any thread.
    void set() noexcept
        requires std::is_void_v<T>
    {
        end([](auto& state) { state.finish(); });
    }
    template <class Value>
    void set(Value&& value) noexcept
        requires std::convertible_to<Value, T>
    {
        end([&](auto& state) { state.finish(T(static_cast<Value&&>(value))); });
    }
    void fail(tutti::failure why) noexcept {
        end([&](auto& state) { state.finish(std::move(why)); });
    }
    void end_with(result<T> told) noexcept {
        if (!told) fail(told.failure());
        else if constexpr (std::is_void_v<T>) set();
        else set(std::move(*told));
    }
    /// Returns whether the future was cancelled or dropped.
    bool cancelled() const noexcept { return state_->cancelled(); }
    void swap(future_source& other) noexcept { std::swap(state_, other.state_); }

private:
    template <class Finish>
    void end(Finish finish) noexcept {
        auto* state = std::exchange(state_, nullptr);
        finish(*state);
        state->release();
    }

    simple_state<T>* state_;
};

template <class T = void>
std::pair<future<T>, future_source<T>> make_future(std::function<void()> on_cancel = {}) {
    auto* state = new simple_state<T>(std::move(on_cancel));
    return {future<T>(*state), future_source<T>(*state)};
}

/// Returns a future that has failed already.
template <class T = void>
future<T> failed_future(tutti::failure why) {
    auto made = make_future<T>();
    made.second.fail(std::move(why));
    return std::move(made.first);
}

}  // namespace detail
}  // namespace tutti
