// Base of all awaiters that wait: resumes the task through its loop, once, and earlier when it is cancelled.
#pragma once

#include <tutti/detail/promise.hpp>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class waiting : private cancel_callback {
protected:
    waiting() = default;
    ~waiting() = default;

    /// For await_suspend. Returns false if the task is cancelled already; then do not wait.
    bool begin(promise_base& who) noexcept {
        who_ = &who;
        cancelled_ = !watch(who.token());
        return !cancelled_;
    }
    /// Ends the wait.
    void end() noexcept {
        unwatch();
        who_->resume_soon();
    }
    /// For await_resume: throws error::cancelled if cancellation ended the wait.
    void throw_if_cancelled() const {
        if (cancelled_) throw_cancelled();
    }
    bool was_cancelled() const noexcept { return cancelled_; }
    event_loop& loop() const noexcept { return who_->loop(); }

    /// Makes sure that `end` is not called any more: the task resumes because it is cancelled.
    virtual void give_up() noexcept = 0;

private:
    void cancelled() noexcept final {
        cancelled_ = true;
        give_up();
        who_->resume_soon();
    }

    promise_base* who_ = nullptr;
    bool cancelled_ = false;
};

}  // namespace detail
}  // namespace tutti
