// A call that is made once and issued many times: its operations keep plan, layout and memory from one time to the next.
#pragma once

#include "engine/operation_list.hpp"

#include <memory>
#include <vector>

namespace tutti {

class engine;

namespace detail {

/// Made by engine::keep, and changed with the engine's guard held. Several operations, because one may still be held by its future, or by
/// the engine for a moment, when it has ended and the next begins.
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

    std::vector<operation*> all;  // of which the first is the model of the others
    operation_list free;
    operation* last = nullptr;  // issued

private:
    const std::shared_ptr<class engine> owner_;
};

}  // namespace detail
}  // namespace tutti
