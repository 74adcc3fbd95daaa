// Persistent operations: a call that is made once and started many times.
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

/// A collective of any kind except monitored_barrier, for programs that repeat it. Its arguments are checked, its plan is chosen and its
/// memory laid out in advance:
///
///     tutti::persistent step([&](tutti::call_options how) { return world.all_reduce(gradients, tutti::sum, how); });
///     for (...) co_await step.start();
///
/// The buffers are borrowed during a start, as in any call. Between starts they may be read and written, but stay where they are. The
/// deadline and label of `how` hold for every start. Wrong arguments fail the communicator when the call is made, as in any call, and each
/// start then ends with that failure.
class persistent {
public:
    /// Empty; only to be assigned to.
    persistent() noexcept = default;
    /// Makes `call`, which passes its options to one call of a communicator. Sends nothing, and takes no place in the order. Throws
    /// error::invalid_argument for a call that is no collective, and does not make it.
    template <class Call>
        requires(!std::same_as<std::remove_cvref_t<Call>, persistent> && std::same_as<std::invoke_result_t<Call, call_options>, future<>>)
    explicit persistent(Call&& call) {
        call_options how;
        how.keep = this;
        check(std::forward<Call>(call)(how));
    }

    /// Returns whether there is something to start.
    bool valid() const noexcept { return static_cast<bool>(call_); }
    /// Starts the call: takes its place in the order of the communicator, and returns a future like any other. Any thread. A start before
    /// the previous one has ended is error::invalid_argument and fails the communicator, because other ranks may count on it. The future
    /// may outlive this object, and ends with the communicator's failure. After the first few starts nothing is allocated.
    future<> start();

    /// For the library: takes over a call that was made.
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

    std::unique_ptr<communicator> apart_;  // used by this call alone; null: the call uses the caller's
    std::unique_ptr<detail::repeated_call, detail::repeated_call_deleter> call_;
};

/// Makes a persistent call on a communicator of its own. Its starts match those of this call on the other ranks, in any order relative to
/// other calls:
///
///     auto making = persistent_apart(world, [&](communicator& own, call_options how) { return own.all_reduce(gradients, sum, how); });
///     persistent step = co_await std::move(making);
///
/// All ranks of `of` call this in the same order, which is also the order of their splits: each call gets a child with links of its own.
/// Destroying the object leaves the child without waiting for the other ranks, so wait for the last start before. Objects that `call`
/// refers to outlive the task.
template <class Call>
task<persistent> persistent_apart(communicator& of, Call call) {
    auto splitting = of.split(0, of.rank());
    event_loop& loop = *splitting.inner()->bound_loop();
    return detail::bind_to_loop(loop, persistent::made_on(std::move(splitting), std::move(call)));
}

}  // namespace tutti
