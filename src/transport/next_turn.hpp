// Yields the loop for one turn in the middle of work that could go on: a lane does so after 1 MiB.
#pragma once

#include "runtime/poll_source.hpp"

#include "base/check.hpp"

#include <utility>

namespace tutti {

class next_turn final : public detail::poll_source {
public:
    explicit next_turn(event_loop& loop) noexcept : poll_source(loop) {}
    ~next_turn() { forget(); }

    /// Calls `work` once, after all other waits have been tried. A posted handler would run before them, in the same turn.
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
