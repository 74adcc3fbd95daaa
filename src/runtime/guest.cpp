// A loop that lives on somebody else's executor: it asks for a turn when there is something to do and holds nothing in between.
#include "runtime/loop_state.hpp"

#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::detail {

// ---- hosts

asio::execution_context::id hospitality::id;

void hospitality::add(guest& one) {
    const std::lock_guard lock(guard_);
    guests_.push_back(&one);
}

void hospitality::remove(guest& one) noexcept {
    const std::lock_guard lock(guard_);
    std::erase(guests_, &one);
}

/// Before the services that are older than the first guest, such as that of its timer: sockets can still be closed.
void hospitality::shutdown() noexcept {
    while (!guests_.empty()) {
        guest* const last = guests_.back();
        guests_.pop_back();
        last->host_goes();
    }
}

// ---- guests

guest::guest(event_loop& loop, asio::any_io_executor executor) : loop_(&loop), executor_(std::move(executor)) {
    alarm_.emplace(executor_);
    host_ = &asio::use_service<hospitality>(asio::query(executor_, asio::execution::context));
    host_->add(*this);
}

void guest::schedule() {
    if (scheduled_ || !executor_) return;
    scheduled_ = true;
    asio::post(executor_, [self = shared_from_this()] { self->turn(); });
}

void guest::turn() {
    if (loop_ == nullptr || !made_.here()) return;
    event_loop::impl& state = loop_->inner();
    {
        const presence guard(*loop_);
        state.take_remote();
        state.run_batch();
        if (!made_.here()) return;  // a task has forked
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
    if (next == armed_for_ || !alarm_) return;
    armed_for_ = next;
    alarm_->cancel();
    if (next == no_deadline) return;
    alarm_->expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(next));
    alarm_->async_wait([self = shared_from_this(), next](boost::system::error_code stopped) {
        if (stopped || self->armed_for_ != next) return;  // a later call changed its mind
        self->armed_for_ = no_deadline;
        self->turn();
    });
}

/// As far as the executor tells.
bool guest::hosted_here() const noexcept {
    if (!made_.here()) return false;
    const auto told = [this]<class Executor>(std::type_identity<Executor>) {
        const auto* known = executor_.target<Executor>();
        return known && known->running_in_this_thread();
    };
    return told(std::type_identity<asio::io_context::executor_type>()) ||
           told(std::type_identity<asio::strand<asio::io_context::executor_type>>()) ||
           told(std::type_identity<asio::strand<asio::any_io_executor>>());
}

void guest::leave() noexcept {
    if (!made_.here()) return;
    loop_ = nullptr;
    armed_for_ = no_deadline;
    alarm_.reset();
    if (host_ != nullptr) std::exchange(host_, nullptr)->remove(*this);
    executor_ = {};
}

void guest::host_goes() noexcept {
    if (!made_.here()) return;
    const auto self = shared_from_this();
    host_ = nullptr;
    if (loop_ != nullptr) loop_->inner().vacate();
    armed_for_ = no_deadline;
    alarm_.reset();
    executor_ = {};
}

bool waits_for_itself(event_loop& loop) noexcept {
    const auto& place = loop.inner().place;
    return loop.here() || (place && place->hosted_here());
}

}  // namespace tutti::detail
