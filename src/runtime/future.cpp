// The race between the thread that ends an operation and the caller that waits for it. One atomic word decides it: null, then perhaps a
// waiter, then done.
#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>

#include "base/check.hpp"
#include "base/process.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tutti::detail {

future_state::future_state() noexcept : process_(this_process()) {}

bool future_state::foreign() const noexcept { return process_ != this_process(); }

failure future_state::foreignness() const {
    return failure(error::closed, "the operation belongs to the process from which this one was forked: nothing ends it here");
}

void future_state::finish() noexcept {
    auto* waiter = waiter_.exchange(done_mark(), std::memory_order_acq_rel);
    TUTTI_CHECK(waiter != done_mark(), "an operation ends once");
    if (!waiter) return;
    waiter->run();
    settled_.store(true, std::memory_order_release);
}

void future_state::finish(tutti::failure why) noexcept {
    failure_.emplace(std::move(why));
    finish();
}

bool future_state::finish_unless_awaited() noexcept {
    runnable* seen = nullptr;
    const bool alone = waiter_.compare_exchange_strong(seen, done_mark(), std::memory_order_acq_rel, std::memory_order_relaxed);
    TUTTI_CHECK(seen != done_mark(), "an operation ends once");
    return alone;
}

bool future_state::wait(runnable& waiter) noexcept {
    runnable* seen = nullptr;
    if (waiter_.compare_exchange_strong(seen, &waiter, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
    TUTTI_CHECK(seen == done_mark(), "a future has one waiter");
    return false;
}

bool future_state::stop_waiting(runnable& waiter) noexcept {
    runnable* seen = &waiter;
    return waiter_.compare_exchange_strong(seen, nullptr, std::memory_order_acq_rel, std::memory_order_acquire);
}

void future_state::settle() const noexcept {
    // The ending thread is between taking the waiter and returning from its run(), which only posts or notifies, so this is short.
    while (!settled_.load(std::memory_order_acquire)) std::this_thread::yield();
}

void future_state::renew() noexcept {
    failure_.reset();
    looked_ = false;
    settled_.store(false, std::memory_order_relaxed);
    references_.store(2, std::memory_order_relaxed);
    waiter_.store(nullptr, std::memory_order_relaxed);
}

future_wait::~future_wait() {
    if (!waiting_ || state_->foreign() || state_->stop_waiting(finished_)) return;
    state_->settle();
    if (loop_) loop_->withdraw(resume_);
}

bool future_wait::start(const promise_base& task) noexcept {
    if (!start(&task.loop())) return false;
    if (task.token() && !watch(task.token())) state_->cancel();
    return true;
}

bool future_wait::start(event_loop* loop) noexcept {
    if (state_->foreign()) return false;
    loop_ = loop;
    waiting_ = true;
    if (state_->wait(finished_)) return true;  // without a loop the coroutine may be over already: touch nothing
    waiting_ = false;
    return false;
}

void future_wait::finished() noexcept {
    if (loop_) loop_->post(resume_);
    else resume();
}

void future_wait::resume() noexcept {
    waiting_ = false;
    unwatch();
    caller_.resume();
}

namespace {

failure emptiness() {
    return {error::invalid_argument, "the future is empty: it has been awaited before, or was never given an operation"};
}

}  // namespace

void check_awaitable(const state_reference& state) {
    if (!state) throw emptiness();
    if (!state->done() && state->foreign()) throw state->foreignness();
}

state_reference told_if_empty(state_reference state) {
    if (state && (state->done() || !state->foreign())) return state;
    auto [none, source] = make_future<>();
    source.fail(state ? state->foreignness() : emptiness());
    return none.take_state();
}

namespace {

/// A thread that sleeps until the state is done.
class sleeper final : public runnable {
public:
    void run() noexcept override {
        // Notified under the lock: the sleeper may be gone as soon as it is released.
        const std::lock_guard lock(mutex_);
        awake_ = true;
        woken_.notify_one();
    }
    void sleep() {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [this] { return awake_; });
    }
    bool sleep_for(duration time) {
        std::unique_lock lock(mutex_);
        return woken_.wait_for(lock, time, [this] { return awake_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable woken_;
    bool awake_ = false;
};

/// Most small collectives end within the time a sleep and a wake-up cost.
bool spin(const future_state& state) noexcept {
    constexpr int yields = 32;
    for (int i = 0; i < yields; ++i) {
        if (state.done()) return true;
        std::this_thread::yield();
    }
    return state.done();
}

void check_may_block(const state_reference& state) {
    check_awaitable(state);
    if (state->done() || !event_loop::current()) return;
    throw failure(error::invalid_argument,
                  "blocking on a future on the thread of an event loop would stop the loop that may have to end it: "
                  "use co_await or fiber::await, or wait on another thread");
}

}  // namespace

void block(const state_reference& state) {
    check_may_block(state);
    if (spin(*state.get())) return;
    sleeper waiter;
    if (state->wait(waiter)) waiter.sleep();
}

bool block_for(const state_reference& state, duration time) {
    check_may_block(state);
    if (state->done()) return true;
    if (time <= duration::zero()) return false;
    sleeper waiter;
    // At most a year: now + `time` must not overflow the clock.
    if (!state->wait(waiter) || waiter.sleep_for(std::min<duration>(time, std::chrono::years(1)))) return true;
    if (state->stop_waiting(waiter)) return false;
    waiter.sleep();  // it ended just now, and the waiter is being called
    return true;
}

}  // namespace tutti::detail
