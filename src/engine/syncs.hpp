// The calls of communicator::sync that have not ended.
#pragma once

#include <tutti/detail/future_source.hpp>

#include <cstdint>
#include <vector>

namespace tutti {

class engine;

/// Ends each sync when all collectives and messages that were called before it have ended. A part of the engine, under its guard and on its
/// loop.
class syncs {
public:
    explicit syncs(engine& owner) noexcept : owner_(owner) {}

    /// With the guard held: returns the future of a sync that waits for the first `collectives` and the first `messages` that were called.
    future<> add(std::uint64_t collectives, std::uint64_t messages);
    bool empty() const noexcept { return all_.empty(); }
    /// With the guard held: calls have ended, so syncs are looked at in the loop's next turn.
    void post() noexcept;
    /// On the loop, without the guard: ends syncs. The callers of earlier calls have been told before.
    void settle() noexcept;
    /// With the guard held: takes back what it has posted to the loop.
    void withdraw() noexcept;

private:
    struct call {
        std::uint64_t number;
        std::uint64_t collectives;
        std::uint64_t messages;
        detail::future_source<> told;
    };

    void cancel(std::uint64_t number) noexcept;
    void look() noexcept;
    report why() const;

    engine& owner_;
    std::vector<call> all_;
    std::uint64_t called_ = 0;
    bool posted_ = false;  // on_loop_ is posted
    detail::callback<&syncs::look> on_loop_{*this};
};

}  // namespace tutti
