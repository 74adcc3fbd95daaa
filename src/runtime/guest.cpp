// A loop that lives on somebody else's executor: it asks for a turn when there is something to do and holds nothing in between.
#include "runtime/loop_state.hpp"

#include <type_traits>

namespace tutti::detail {

void guest::schedule() {
    if (scheduled_) return;
    scheduled_ = true;
    asio::post(executor_, [self = shared_from_this()] { self->turn(); });
}

void guest::turn() {
    if (loop_ == nullptr) return;
    event_loop::impl& state = loop_->inner();
    {
        const presence guard(*loop_);
        state.take_remote();
        state.run_batch();
        if (!state.timers.empty()) state.fire_timers(loop_->now());
    }
    {
        const std::lock_guard lock(state.mutex);
        scheduled_ = false;
        if (!state.local.empty() || !state.remote.empty()) schedule();
    }
    arm();
}

void guest::arm() {
    const time_point next = loop_->inner().timers.next();
    if (next == armed_for_) return;
    armed_for_ = next;
    alarm_.cancel();
    if (next == no_deadline) return;
    alarm_.expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(next));
    alarm_.async_wait([self = shared_from_this(), next](boost::system::error_code stopped) {
        if (stopped || self->armed_for_ != next) return;  // a later call changed its mind
        self->armed_for_ = no_deadline;
        self->turn();
    });
}

/// As far as the executor tells.
bool guest::hosted_here() const noexcept {
    const auto told = [this]<class Executor>(std::type_identity<Executor>) {
        const auto* known = executor_.target<Executor>();
        return known && known->running_in_this_thread();
    };
    return told(std::type_identity<asio::io_context::executor_type>()) ||
           told(std::type_identity<asio::strand<asio::io_context::executor_type>>()) ||
           told(std::type_identity<asio::strand<asio::any_io_executor>>());
}

void guest::leave() noexcept {
    loop_ = nullptr;
    armed_for_ = no_deadline;
    alarm_.cancel();
}

bool waits_for_itself(event_loop& loop) noexcept {
    const auto& place = loop.inner().place;
    return loop.here() || (place && place->hosted_here());
}

}  // namespace tutti::detail
