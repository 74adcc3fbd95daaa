#include <tutti/detail/task_group.hpp>
#include <tutti/error.hpp>

#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tutti::detail {
namespace {

bool says_cancelled(const std::exception_ptr& why) noexcept {
    try {
        std::rethrow_exception(why);
    } catch (const failure& known) {
        return known.code() == error::cancelled;
    } catch (...) {
        return false;
    }
}

[[noreturn]] void stop_program(const char* what, const task_group& children) noexcept {
    explanation who;
    who.deeper();
    children.explain(who);
    std::fprintf(stderr, "tutti: %s\n%s", what, who.text().c_str());
    std::abort();
}

}  // namespace

task_group::task_group(event_loop& loop, frames owner, ends_with rule) noexcept : loop_(loop), owner_(owner), rule_(rule), source_(loop) {}

task_group::~task_group() {
    if (source_.foreign()) return;  // the tasks are the other process's
    if (reaping_) loop_.withdraw(reaper_);
    reap();
    if (forsaking::going_on()) {
        destroy_frames();
        return;
    }
    if (running_ != 0) stop_program("a scope is left while its tasks still run; co_await its join() first:", *this);
    if (!errors_.empty() && !joined_) stop_program("a scope is left without join(), and a task in it has failed", *this);
}

void task_group::destroy_frames() noexcept {
    while (owner_ == frames::owned && first_ != nullptr) {
        promise_base& child = *first_;
        first_ = child.next;
        child.destroy();
    }
}

void task_group::start(promise_base* task) noexcept {
    TUTTI_CHECK(task != nullptr, "a task is started after it was moved away");
    promise_base& child = *task;
    child.previous = nullptr;
    child.next = first_;
    if (first_ != nullptr) first_->previous = &child;
    first_ = &child;
    ++running_;
    joined_ = false;
    child.start(loop_, source_.token(), *this);
}

void task_group::follow(cancel_token parent) noexcept {
    parent_ = parent;
    source_.follow(parent);
}

void task_group::fail(std::exception_ptr why) noexcept {
    if (source_.requested() && says_cancelled(why)) return;
    errors_.push_back(std::move(why));
    source_.request();
}

void task_group::explain(explanation& out) const {
    for (const promise_base* child = first_; child != nullptr; child = child->next) child->explain(out);
}

void task_group::ended(promise_base& child) noexcept {
    (child.previous == nullptr ? first_ : child.previous->next) = child.next;
    if (child.next != nullptr) child.next->previous = child.previous;
    record(child);
    if (owner_ == frames::owned) {  // its frame is still on the stack: the reaper destroys it
        child.next = ended_;
        ended_ = &child;
        if (!reaping_) {
            reaping_ = true;
            loop_.post(reaper_);
        }
    }
    if (--running_ == 0 && waiter_ != nullptr) waiter_->resume_soon();
}

void task_group::record(promise_base& child) noexcept {
    if (winner_ == nullptr) {
        winner_ = &child;
        if (rule_ == ends_with::first_ended) return source_.request();  // its error, if any, is in its result
    }
    if (child.failed()) fail(child.error());
}

bool task_group::wait(promise_base& who) noexcept {
    TUTTI_CHECK(waiter_ == nullptr, "two tasks join one scope at the same time");
    follow(who.token());
    if (running_ == 0) return false;
    waiter_ = &who;
    return true;
}

void task_group::finish() {
    waiter_ = nullptr;
    joined_ = true;
    source_.unfollow();
    if (rule_ == ends_with::first_ended && winner_ != nullptr && winner_->failed()) std::rethrow_exception(winner_->error());
    if (!errors_.empty()) std::rethrow_exception(errors_.front());
    if (rule_ == ends_with::first_error && parent_.requested()) throw failure(error::cancelled, "the tasks of the scope were cancelled");
}

void task_group::reap() noexcept {
    reaping_ = false;
    while (ended_ != nullptr) {
        promise_base& child = *ended_;
        ended_ = child.next;
        child.destroy();
    }
}

}  // namespace tutti::detail
