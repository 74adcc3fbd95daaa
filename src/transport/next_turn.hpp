// Leaves the loop to others for a turn, in the middle of work that could go on.
#pragma once

#include "runtime/poll_source.hpp"

#include "base/check.hpp"

#include <utility>

namespace tutti {

class next_turn final : public detail::poll_source {
public:
    explicit next_turn(event_loop& loop) noexcept : poll_source(loop) {}
    ~next_turn() { forget(); }

    /// Calls `work` once, after everything else that is waited for has been tried. What is posted would come before that, in the same turn.
    void start(detail::runnable& work) noexcept {
        TUTTI_CHECK(work_ == nullptr, "one waits for a turn once");
        work_ = &work;
        wait_a_turn();
    }
    void forget() noexcept {
        if (std::exchange(work_, nullptr) != nullptr) stop_waiting();
    }

private:
    void run() noexcept override { std::exchange(work_, nullptr)->run(); }  // which may destroy this
    void arm() override { ready(); }

    detail::runnable* work_ = nullptr;
};

}  // namespace tutti
