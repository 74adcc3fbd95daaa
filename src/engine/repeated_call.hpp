// A persistent call: made once and issued many times. Its operations keep plan, layout and memory from one time to the next.
#pragma once

#include "engine/operation.hpp"

#include <memory>
#include <vector>

namespace tutti {

class engine;

namespace detail {

/// Made by engine::keep, owned by tutti::persistent, and changed with the engine's guard held. It has several operations: when the next
/// begins, the one before may still be held by its future, or for a moment by the engine.
class [[gnu::visibility("hidden")]] repeated_call final {
public:
    explicit repeated_call(std::shared_ptr<class engine> owner) noexcept : owner_(std::move(owner)) {}
    repeated_call(const repeated_call&) = delete;
    repeated_call& operator=(const repeated_call&) = delete;
    /// An operation under way goes on.
    ~repeated_call();

    class engine& engine() const noexcept {
        return *owner_;
    }

    std::vector<operation*> all;  // the first is the model of the others
    operation_list free;
    operation* last = nullptr;  // the last that was issued

private:
    const std::shared_ptr<class engine> owner_;
};

}  // namespace detail
}  // namespace tutti
