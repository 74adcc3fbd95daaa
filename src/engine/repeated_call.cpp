#include "engine/repeated_call.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

namespace tutti {

detail::repeated_call::~repeated_call() { owner_->forget(*this); }

std::unique_ptr<detail::repeated_call> engine::keep(const request& what, duration default_deadline) {
    auto call = std::make_unique<detail::repeated_call>(shared_from_this());
    const std::lock_guard lock(guard_);
    operation& model = ready_for(what);
    pool_.adopt(*call, model);
    if (model.asked.deadline == duration{}) model.asked.deadline = default_deadline;
    return call;
}

operation& engine::issue(detail::repeated_call& call) {
    issuing now(*this);
    operation& next = start_again(call);
    if (!next.ended) now.enter(next);
    return next;
}

operation& engine::start_again(detail::repeated_call& call) {
    if (pending_ == settings_.pending_limit) too_many(call.all.front()->what);
    if (call.last && !call.last->ended) too_early(*call.last);
    operation& next = pool_.next_of(call);
    pool_.take_out(next);
    next.again();
    if (over()) refuse(next);
    else call.last = &next;
    return next;
}

/// Fails the engine: on other ranks the call may have ended, so they would take this one for the next.
void engine::too_early(const operation& running) {
    fail_own(error::invalid_argument,
             fmt::format("rank {} started a persistent {} again while it was under way as #{}", who_.me, running.name(), running.sequence));
}

void engine::forget(detail::repeated_call& call) noexcept {
    const std::lock_guard lock(guard_);
    pool_.forget(call);
}

}  // namespace tutti
