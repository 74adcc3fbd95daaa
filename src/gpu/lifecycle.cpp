#include "gpu/lifecycle.hpp"

#include "base/quiet_thread.hpp"
#include "gpu/stuck.hpp"

#include <tutti/detail/future_source.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <utility>

namespace tutti::gpu {
namespace {

/// Returns real time, also where the loop has virtual time, because a stuck call stops the loop.
time_point now() { return std::chrono::steady_clock::now(); }

/// The future of a call. Cancelled or dropped it ends at once, and does not wait for the call.
class returned_call final : public detail::future_state {
public:
    void came(const result<>& how) noexcept {
        if (!ended_.exchange(true, std::memory_order_acq_rel)) {
            if (how) finish();
            else finish(how.failure());
        }
        release();
    }
    void cancel() noexcept override {
        if (!ended_.exchange(true, std::memory_order_acq_rel))
            finish(failure(error::cancelled, "nobody waits for the driver's call any more"));
    }
    void abandon() noexcept override { cancel(); }
    void explain(detail::explanation& out) const override { out.line("a call that the driver may take long for"); }

private:
    void recycle() noexcept override { delete this; }

    std::atomic<bool> ended_{false};
};

}  // namespace

lifecycle::lifecycle(event_loop* given, duration patience, std::string whose)
    : patience_(patience),
      whose_(std::move(whose)),
      workplace_(given) {}

lifecycle::~lifecycle() {
    if (!workplace_.has_thread()) workplace_.loop().withdraw(*this);
}

future<> lifecycle::run(std::string what, std::function<result<>()> call) {
    auto* state = new returned_call;
    future<> end(*state);
    job next{std::move(what), [state, call = std::move(call)] { state->came(call()); }, [state](const failure& why) { state->came(why); }};
    if (const auto why = stuck()) next.drop(*why);
    else add(std::move(next));
    return end;
}

void lifecycle::later(std::string what, std::function<void()> call) { add({std::move(what), std::move(call), {}}); }

void lifecycle::beside(std::string what, std::function<void()> call) {
    if (workplace_.has_thread()) quiet_thread(std::move(call)).detach();
    else later(std::move(what), std::move(call));
}

void lifecycle::add(job what) {
    std::unique_lock lock(guard_);
    if (!closed_) {
        const bool behind = what.drop && (!current_.empty() || !jobs_.empty());
        jobs_.push_back(std::move(what));
        if (!std::exchange(posted_, true)) workplace_.loop().post(*this);
        if (behind && workplace_.has_thread() && !std::exchange(watching_, true))
            quiet_thread([self = shared_from_this()] { self->watch(); }).detach();
        return;
    }
    lock.unlock();
    if (what.drop) what.drop(failure(error::closed, fmt::format("{} is closed", whose_)));
}

std::optional<failure> lifecycle::stuck() const {
    const std::lock_guard lock(guard_);
    return stuck_now();
}

std::optional<failure> lifecycle::stuck_now() const {
    if (current_.empty() || now() - since_ <= patience_) return {};
    return failure(error::timed_out, fmt::format("{}: {} has not returned for {:.1f} s; what was to follow it is leaked", whose_, current_,
                                                 std::chrono::duration<double>(now() - since_).count()));
}

void lifecycle::run() noexcept {
    const auto self = shared_from_this();  // the last job may be the last that holds it
    {
        const std::lock_guard lock(guard_);
        posted_ = false;
    }
    drain();
    // The end may have been asked for by the last job itself, and done at once: then this is still queued.
    const std::lock_guard lock(guard_);
    if (closed_ && jobs_.empty()) workplace_.loop().withdraw(*this);
}

void lifecycle::drain() noexcept {
    for (;;) {
        job next;
        {
            const std::lock_guard lock(guard_);
            current_.clear();
            moved_.notify_all();
            if (jobs_.empty()) return;
            next = std::move(jobs_.front());
            jobs_.pop_front();
            current_ = next.what;
            since_ = now();
        }
        next.call();
    }
}

/// Runs on a thread of its own while a caller waits for a call behind others. When one of those is stuck, the callers behind it learn of it.
void lifecycle::watch() noexcept {
    const auto is_awaited = [](const job& each) { return static_cast<bool>(each.drop); };
    std::unique_lock lock(guard_);
    while (std::any_of(jobs_.begin(), jobs_.end(), is_awaited)) {
        const auto why = stuck_now();
        if (!why) {
            if (current_.empty()) moved_.wait(lock);
            else moved_.wait_until(lock, tutti::later(since_, patience_));
            continue;
        }
        const auto first = std::stable_partition(jobs_.begin(), jobs_.end(), std::not_fn(is_awaited));
        std::deque<job> dropped(std::make_move_iterator(first), std::make_move_iterator(jobs_.end()));
        jobs_.erase(first, jobs_.end());
        lock.unlock();
        for (const job& each : dropped) each.drop(*why);
        dropped.clear();
        lock.lock();
    }
    watching_ = false;
}

void lifecycle::drop_all(const failure& why) {
    std::deque<job> dropped;
    {
        const std::lock_guard lock(guard_);
        dropped.swap(jobs_);
    }
    for (job& each : dropped)
        if (each.drop) each.drop(why);
    stuck::keep(
        std::make_shared<const std::deque<job>>(std::move(dropped)));  // what they hold must not be freed while the driver may use it
}

bool lifecycle::finish(std::function<void()> last) {
    const auto self = shared_from_this();
    later("the end", [this, last = std::move(last)] {
        last();
        if (workplace_.has_thread()) workplace_.loop().stop();
    });
    {
        const std::lock_guard lock(guard_);
        closed_ = true;
    }
    if (!workplace_.has_thread()) {
        workplace_.loop().withdraw(*this);
        drain();
        return true;
    }
    if (event_loop::current()) return true;
    if (workplace_.await_end(patience_)) return true;
    drop_all(failure(error::timed_out, fmt::format("{}: {} does not return", whose_, current_)));
    return false;
}

}  // namespace tutti::gpu
