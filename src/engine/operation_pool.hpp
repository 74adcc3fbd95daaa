// The pool of an engine's operations, and the plans that they carry out.
#pragma once

#include "algorithm/chooser.hpp"
#include "engine/engine_settings.hpp"
#include "engine/operation.hpp"

#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <vector>

namespace tutti {

/// Makes operations ready for calls, and keeps free ones, which have their plan, layout and memory for the next call already. Used with the
/// engine's guard held, but for `take_back`.
class operation_pool {
public:
    operation_pool(engine& owner, const engine_identity& who, const engine_settings& settings);

    /// Returns the algorithm that a call would use.
    const algorithm& choose(collective kind, std::size_t vector_bytes) { return choose_.choose(kind, vector_bytes); }
    /// Lets algorithms be chosen by the costs in the settings, which have changed. All operations are free.
    void reprice();

    /// Returns a free operation that is ready for the call. It stays in the pool until it is taken out, since memory may run out before.
    operation& make(const request& what);
    /// Returns one without a plan, for a call that is refused.
    operation& make_unplanned(const request& what);
    /// Takes an operation out of the pool for a caller. Futures may outlive the communicator: while any operation is out, the engine lives.
    void take_out(operation& made);
    /// Any thread, without the guard: the caller and the engine have released the operation. Returns false when the pool is closed: then
    /// put_back takes it.
    bool take_back(operation& which) noexcept;
    /// Returns the engine's hold on itself if this was the last operation that was out: its end may be the end of the engine.
    std::shared_ptr<engine> put_back(operation& which) noexcept;
    /// From here on operations come back by put_back. If all are back the engine's hold on itself ends; the caller has one of its own.
    void close() noexcept;

    /// Gives an operation that has been made to a persistent call.
    void adopt(detail::repeated_call& call, operation& made);
    /// Returns a free operation of a persistent call, with plan and memory.
    operation& next_of(detail::repeated_call& call);
    void forget(detail::repeated_call& call) noexcept;

    /// Moves long scratch from a free operation to one that needs it, so that it is not kept once for each root.
    void take_scratch(operation& to, std::size_t bytes) noexcept;

private:
    struct plan_key {
        collective kind;
        std::uint8_t algorithm;
        rank root;
        friend auto operator<=>(const plan_key&, const plan_key&) = default;
    };
    /// A plan, and free operations that have carried it out before: their memory has the right size already.
    struct prepared {
        std::shared_ptr<const program> compiled;
        std::uint8_t algorithm = 0;
        operation_list free;
    };
    /// The key by which a plan is chosen.
    struct choice {
        collective kind{};
        bool ordered = false;
        rank root = 0;
        std::size_t vector_bytes = 0;
        friend bool operator==(const choice&, const choice&) = default;
    };
    struct choice_made {
        choice asked;
        prepared* made = nullptr;
    };

    operation* begun_like_before(const request& what) noexcept;
    prepared& prepare(const request& what);
    operation& first_of(operation_list& free);
    void make_ready(operation& made, const request& what, const std::shared_ptr<const program>& compiled);
    static operation_list& list_of(operation& which) noexcept;
    void put(operation& which) noexcept;
    void collect(operation* instead = nullptr) noexcept;
    /// Marks returned_ as closed: no operation may be added any more. No operation has this address.
    operation* closed() noexcept { return reinterpret_cast<operation*>(&returned_); }

    engine& owner_;
    const engine_identity& who_;
    const engine_settings& settings_;
    const std::size_t past_caches_from_;
    chooser choose_;
    std::map<plan_key, prepared> plans_;
    choice_made last_choice_;  // a shortcut: many calls are like the one before
    operation_list unplanned_;
    std::vector<std::unique_ptr<operation>> owned_;
    std::atomic<operation*> returned_{nullptr};  // used without the guard; linked by `life.next`, the last first
    std::size_t out_ = 0;                        // operations that callers, or the engine for them, hold
    std::shared_ptr<engine> keeper_;             // from the first of these on, until the pool is closed and all are back
};

}  // namespace tutti
