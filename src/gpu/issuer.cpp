#include "gpu/issuer.hpp"

#include "gpu/device_state.hpp"
#include "runtime/loop_local.hpp"

#include <algorithm>

namespace tutti::gpu {

issuer& issuer::of(const std::shared_ptr<device_state>& device, event_loop& loop) {
    auto& place = detail::loop_local(loop, device->issuing_mark());
    if (!place) place = std::make_shared<issuer>(loop, *device);
    return *std::static_pointer_cast<issuer>(place);
}

void issuer::add(issuing& who, operation_state& which) {
    which.launcher = &who;
    queue_.push(which);
    if (!driving_) drive();
}

void issuer::await(issuing& who) {
    waiting_.push_back(&who);
    interval_ = shortest;
    if (!driving_) rest();
}

void issuer::watch(issuing& who) {
    if (std::find(watched_.begin(), watched_.end(), &who) != watched_.end()) return;
    watched_.push_back(&who);
    if (next_look_ == no_deadline) next_look_ = loop_.now() + looking;
    if (!driving_) rest();
}

void issuer::remove(issuing& who) {
    for (operation_state* each = queue_.first(); each;) {
        operation_state* const next = decltype(queue_)::after(*each);
        if (each->launcher == &who) queue_.remove(*each);
        each = next;
    }
    if (launched_ == &who) launched_ = nullptr;
    std::erase(waiting_, &who);
    std::erase(watched_, &who);
    if (watched_.empty()) next_look_ = no_deadline;  // the device may go before that
    if (!driving_) drive();
}

/// A callback may add callers here, and remove them.
void issuer::drive() {
    const on_device here(device_.driver(), device_.context());
    driving_ = true;
    go_on();
    driving_ = false;
    rest();
}

/// An operation that is on its stream may end at any time, so it must not be touched afterwards.
void issuer::go_on() {
    const duration patience = loop_.has_virtual_time() ? duration{} : without_pause;
    time_point until = loop_.now() + patience;
    while (launched_ || !queue_.empty()) {
        bool done = false;
        if (issuing* const who = launched_) {
            done = who->proceed();
        } else {
            operation_state& first = queue_.pop();
            launched_ = first.launcher;
            interval_ = shortest;
            done = launched_->launch(first);
        }
        if (done) {
            launched_ = nullptr;
            until = loop_.now() + patience;
        } else if (loop_.now() >= until) {
            return;
        }
    }
}

void issuer::ask_waiting() {
    for (std::size_t index = 0; index < waiting_.size();) {
        issuing* const who = waiting_[index];
        const bool done = who->proceed();
        if (index == waiting_.size() || waiting_[index] != who) continue;
        if (done) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
        else ++index;
    }
}

void issuer::look() {
    if (loop_.now() < next_look_) return;
    std::erase_if(watched_, [](issuing* who) { return !who->look_after(); });
    next_look_ = watched_.empty() ? no_deadline : loop_.now() + looking;
}

void issuer::dated() noexcept {
    const on_device here(device_.driver(), device_.context());
    driving_ = true;
    ask_waiting();
    look();
    interval_ = std::min(2 * interval_, longest);
    go_on();
    driving_ = false;
    rest();
}

void issuer::rest() {
    const bool asks = launched_ || !waiting_.empty();
    const time_point next = std::min(asks ? loop_.now() + interval_ : no_deadline, next_look_);
    if (next == no_deadline) timer_.stop();
    else if (timer_.when() != next) timer_.start(next);
}

}  // namespace tutti::gpu
