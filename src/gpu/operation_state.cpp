#include "gpu/operation_state.hpp"

#include "gpu/event_state.hpp"

#include <tutti/detail/promise.hpp>
#include <tutti/gpu/operation.hpp>

namespace tutti::gpu {

/// A waiter for an operation to be on its stream, perhaps to order another stream behind it.
class placing final : public detail::future_state {
public:
    static void* operator new(std::size_t bytes) { return detail::allocate_frame(bytes); }
    static void operator delete(void* place, std::size_t bytes) noexcept { detail::recycle_frame(place, bytes); }

    explicit placing(std::optional<stream> ordered) noexcept : ordered_(std::move(ordered)) {}

    /// The stream may be gone as soon as the wait has ended.
    void placed(const event& end, const failure* why) noexcept {
        if (why) return over(why);
        result<> done;
        if (ordered_ && end.valid()) {
            const std::lock_guard lock(guard_);
            if (!ended_.load(std::memory_order_acquire)) done = ordered_->wait(end);
        }
        over(done ? nullptr : &done.failure());
    }
    /// When it returns the stream is not used any more.
    void cancel() noexcept override {
        static const failure cancelled(error::cancelled, "nobody waits for the operation to be enqueued any more");
        std::unique_lock lock(guard_);
        if (ended_.exchange(true, std::memory_order_acq_rel)) return;
        lock.unlock();
        finish(cancelled);
    }
    void abandon() noexcept override { cancel(); }
    void explain(detail::explanation& out) const override { out.line("an operation on a device, to be enqueued"); }

    placing* next = nullptr;

private:
    void over(const failure* why) noexcept {
        if (!ended_.exchange(true, std::memory_order_acq_rel)) {
            if (why) finish(*why);
            else finish();
        }
        release();
    }
    void recycle() noexcept override { delete this; }

    const std::optional<stream> ordered_;
    std::mutex guard_;  // ordering
    std::atomic<bool> ended_{false};
};

// ---- waiting

future<> operation_state::enqueued() { return add({}); }
future<> operation_state::ordered_on(const stream& which) { return add(which); }

future<> operation_state::add(std::optional<stream> ordered) {
    auto* one = new placing(std::move(ordered));
    future<> waits(*one);
    const failure* why = nullptr;
    {
        const std::lock_guard lock(guard_);
        if (!over_) {
            one->next = std::exchange(waiting_, one);
            return waits;
        }
        if (why_) why = &*why_;
    }
    one->placed(end_, why);
    return waits;
}

void operation_state::placed(event end) noexcept {
    placing* all = nullptr;
    {
        const std::lock_guard lock(guard_);
        if (over_) return;
        end_ = std::move(end);
        over_ = true;
        all = std::exchange(waiting_, nullptr);
    }
    while (all) std::exchange(all, all->next)->placed(end_, nullptr);
}

void operation_state::end(const failure* why) noexcept {
    placing* all = nullptr;
    {
        const std::lock_guard lock(guard_);
        if (why && !why_) why_ = *why;
        if (!std::exchange(over_, true)) all = std::exchange(waiting_, nullptr);
    }
    while (all) std::exchange(all, all->next)->placed(end_, why);
    if (ended_.exchange(true, std::memory_order_acq_rel)) return;
    if (why) finish(*why);
    else finish();
}

void operation_state::cancel() noexcept {
    static const failure cancelled(error::cancelled, "nobody waits for the operation any more; it goes on");
    if (!ended_.exchange(true, std::memory_order_acq_rel)) finish(cancelled);
}

void operation_state::explain(detail::explanation& out) const { out.line(to_string(what) + " on a device"); }

void operation_state::let_go() noexcept {
    what.clear();
    arrival_.reset();
    release();
}

void operation_state::recycle() noexcept {
    const std::shared_ptr<operation_pool> pool = std::move(pool_);
    pool->give(*this);
}

// ---- the pool

operation_pool::~operation_pool() {
    for (operation_state* each : here_) delete each;
}

operation_state& operation_pool::take(operation_owner& owner) {
    operation_state* one = nullptr;
    {
        const std::lock_guard lock(guard_);
        if (here_.empty()) {
            if (++made_ > here_.capacity()) here_.reserve(2 * made_);
        } else {
            one = here_.back();
            here_.pop_back();
        }
    }
    if (one) one->renew();
    else one = new operation_state;
    one->keep();  // the handle's
    one->pool_ = shared_from_this();
    one->owner_ = &owner;
    return *one;
}

void operation_pool::give(operation_state& which) noexcept {
    which.end_ = event();
    which.why_.reset();
    which.over_ = false;
    which.ended_.store(false, std::memory_order_relaxed);
    which.heard = operation_state::news::none;
    which.fault = nullptr;
    which.sequence = which.collective = 0;
    which.issued = {};
    which.patience = operation_state::first_patience;
    which.owner_ = nullptr;
    const std::lock_guard lock(guard_);
    here_.push_back(&which);
}

// ---- the handle

operation::operation(operation_state& state) noexcept : completed_(state), state_(&state) {}

operation::~operation() {
    if (state_) state_->release();
}

future<> operation::enqueued() const {
    detail::state_reference nothing;
    if (!state_) detail::check_awaitable(nothing);
    return state_->enqueued();
}

future<> operation::wait_on(const stream& which) const {
    detail::state_reference nothing;
    if (!state_) detail::check_awaitable(nothing);
    return state_->ordered_on(which);
}

}  // namespace tutti::gpu
