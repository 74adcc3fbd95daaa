#include "engine/repeated_call.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

namespace tutti {

detail::repeated_call::~repeated_call() { owner_->forget(*this); }

std::unique_ptr<detail::repeated_call> engine::keep(const request& what, duration default_deadline) {
    auto call = std::make_unique<detail::repeated_call>(shared_from_this());
    const std::lock_guard lock(guard_);
    operation& model = made_of(what);
    adopt(*call, model);
    if (model.asked.deadline == duration{}) model.asked.deadline = default_deadline;
    return call;
}

/// Gives a free operation to the call. If memory runs out before that, it stays in the pool for any other call.
void engine::adopt(detail::repeated_call& call, operation& made) {
    call.all.push_back(&made);
    made.kept_in->remove(made);
    made.call = &call;
    call.free.push(made);
}

/// Adds an operation like the model.
void engine::add_to(detail::repeated_call& call) {
    const operation& model = *call.all.front();
    operation& made = first_of(*model.kept_in);
    make_ready(made, model.asked, model.plan_);
    made.what = model.what;
    made.kept_in = model.kept_in;
    adopt(call, made);
}

operation& engine::issue(detail::repeated_call& call) {
    issuing now(*this);
    operation& next = start_again(call);
    if (!next.ended) now.enter(next);
    return next;
}

operation& engine::start_again(detail::repeated_call& call) {
    const operation& model = *call.all.front();
    if (pending_ == settings_.pending_limit) too_many(model.what);
    if (call.last && !call.last->ended) too_early(*call.last);
    if (call.free.empty()) collect();
    if (call.free.empty()) add_to(call);
    operation& next = *call.free.first();
    take_out(next);
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
    collect();
    for (operation* each : call.all) {
        each->call = nullptr;
        each->laid_out_ = false;  // perhaps for a plan that is not chosen any more
    }
    while (!call.free.empty()) {
        operation& one = call.free.pop();
        one.kept_in->push(one);
    }
}

}  // namespace tutti
