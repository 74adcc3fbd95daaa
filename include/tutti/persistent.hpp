// A call that is made once and started again and again.
#pragma once

#include <tutti/communicator.hpp>
#include <tutti/detail/bound_task.hpp>

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
    template <class Call>
    friend task<persistent> persistent_apart(communicator& of, Call call);
    template <class Call>
    static task<persistent> made_on(task<std::unique_ptr<communicator>> splitting, Call call) {
        std::unique_ptr<communicator> own = co_await std::move(splitting);
        persistent made([&](call_options how) { return call(*own, how); });
        made.apart_ = std::move(own);
        co_return made;
    }

    /// Throws error::invalid_argument when the call was issued, or none was made.
    void check(future<> made) const;

    std::unique_ptr<communicator> apart_;  // that the call alone uses, if it does
    std::unique_ptr<detail::repeated_call, detail::repeated_call_deleter> call_;
};

/// A persistent call whose starts match those of the same call on the other ranks, in whatever order each rank starts it and calls others:
///
///     auto making = persistent_apart(world, [&](communicator& own, call_options how) { return own.all_reduce(gradients, sum, how); });
///     persistent step = co_await std::move(making);
///
/// All ranks of `of` make their calls in the same order, which is that of its splits: each is a call of a child of its own, with links of its
/// own. An object that is destroyed leaves its child without waiting for the other ranks, so wait for the last start before. The objects that
/// `call` refers to outlive the task.
template <class Call>
task<persistent> persistent_apart(communicator& of, Call call) {
    auto splitting = of.split(0, of.rank());
    event_loop& loop = *splitting.inner()->bound_loop();
    return detail::bind_to_loop(loop, persistent::made_on(std::move(splitting), std::move(call)));
}

}  // namespace tutti
