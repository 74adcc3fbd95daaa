// A call that is made once and started again and again.
#pragma once

#include <tutti/communicator.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {

namespace detail {
class repeated_call;
struct repeated_call_deleter {
    void operator()(repeated_call* which) const noexcept;
};
}  // namespace detail

/// A collective of any kind, but for monitored_barrier, with its arguments checked, its plan chosen and its memory laid out, for programs
/// that repeat it:
///
///     tutti::persistent step([&](tutti::call_options how) { return world.all_reduce(gradients, tutti::sum, how); });
///     for (...) co_await step.start();
///
/// The call's buffers are borrowed while a start is under way, as in any call; between starts they may be read and written, and they stay
/// where they are. Deadline and label of `how` hold for every start. Wrong arguments fail the communicator when the call is made, as in any
/// call, and each start then ends with that failure.
class persistent {
public:
    /// Empty; only to be assigned to.
    persistent() noexcept = default;
    /// Makes `call`, which hands on the options it gets to one call of a communicator. Nothing is sent, and no place in the order taken.
    /// Throws error::invalid_argument for a call that is no collective, and does not make it.
    template <class Call>
        requires(!std::same_as<std::remove_cvref_t<Call>, persistent> && std::same_as<std::invoke_result_t<Call, call_options>, future<>>)
    explicit persistent(Call&& call) {
        call_options how;
        how.keep = this;
        check(std::forward<Call>(call)(how));
    }

    /// Whether there is something to start.
    bool valid() const noexcept { return static_cast<bool>(call_); }
    /// The same as making the call: takes its place in the order of the communicator, and its future is any other. One start at a time: the
    /// next one before the end of this one is error::invalid_argument and fails the communicator, because other ranks may take it for
    /// good. Any thread. The future may outlive this object, and the communicator's failure ends it. After the first few starts nothing is
    /// allocated.
    future<> start();

    /// For the library: a call that was made.
    explicit persistent(detail::repeated_call& made) noexcept : call_(&made) {}

private:
    /// Throws error::invalid_argument when the call was issued, or none was made.
    void check(future<> made) const;

    std::unique_ptr<detail::repeated_call, detail::repeated_call_deleter> call_;
};

}  // namespace tutti
