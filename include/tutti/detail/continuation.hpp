// The future that future::then returns: the first one's operation, followed by a function.
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/future.hpp>
#include <tutti/result.hpp>

#include <atomic>
#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

template <class T>
inline constexpr bool must_be_awaited = is_task<T>;
template <class T>
inline constexpr bool must_be_awaited<future<T>> = true;

/// Gives back one of its first two references when the first operation has ended and the function has run.
template <class T, class Function>
class continued_state final : public state_of<continued<T, Function>> {
    using value = continued<T, Function>;
    static_assert(!must_be_awaited<value>, "the function of then() returns a value: where one operation follows another, write a task");
    static constexpr bool hears_failures = std::invocable<Function&, result<T>>;

public:
    continued_state(state_reference from, Function function) : from_(std::move(from)), function_(std::move(function)) {}
    void begin() noexcept {
        if (!from_->wait(ended_)) ended();
    }

    void cancel() noexcept override {
        if (!this->foreign()) from_->cancel();
    }
    void abandon() noexcept override {
        if (claim()) function_.reset();
        if (!from_->done()) from_->abandon();
    }
    void explain(explanation& out) const override { from_->explain(out); }

private:
    void recycle() noexcept override { delete this; }
    /// Returns true once: to the end or to the abandoning, which then owns the function.
    bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }

    void ended() noexcept {
        if (loop_) loop_->post(go_on_);
        else go_on();
    }
    void go_on() noexcept {
        from_->look();
        if (!claim()) return end(failure(error::cancelled, "the future was dropped before its function was called"));
        const auto* why = from_->why();
        if (why && !hears_failures) return end(*why);
        end(outcome());
    }
    result<value> outcome() noexcept {
        Function function = std::move(*function_);
        function_.reset();
        try {
            if constexpr (std::is_void_v<value>) return call(function), result<>();
            else return call(function);
        } catch (const failure& why) {
            return why;
        } catch (const std::exception& thrown) {
            return failure(error::aborted, thrown.what());
        } catch (...) {
            return failure(error::aborted, "the function of then() threw something that is no std::exception");
        }
    }
    value call(Function& function) {
        if constexpr (hears_failures) return function(take_result<T>(*from_.get()));
        else if constexpr (std::is_void_v<T>) return function();
        else return function(take<T>(*from_.get()));
    }
    void end(result<value> outcome) noexcept {
        if (!outcome) this->finish(outcome.failure());
        else if constexpr (std::is_void_v<value>) this->finish();
        else this->finish(std::move(*outcome));
        this->release();
    }

    const state_reference from_;  // as long as it can be cancelled
    event_loop* const loop_ = event_loop::current();
    std::optional<Function> function_;
    std::atomic<bool> claimed_{false};
    callback<&continued_state::ended> ended_{*this};
    callback<&continued_state::go_on> go_on_{*this};
};

}  // namespace detail

template <class T>
template <detail::continuation_of<T> Function>
auto future<T>::then(Function function) -> future<detail::continued<T, Function>> {
    using state = detail::continued_state<T, Function>;
    auto* const made = new state(detail::told_if_empty(take_state()), std::move(function));
    future<detail::continued<T, Function>> other(*made);
    made->begin();
    return other;
}

}  // namespace tutti
