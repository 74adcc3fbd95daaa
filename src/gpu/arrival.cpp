#include "gpu/arrival.hpp"

#include "gpu/event_state.hpp"
#include "gpu/poller.hpp"

namespace tutti::gpu {

future<> arrival::of(event what, keep_alive kept, std::uint32_t kind) {
    const std::shared_ptr<device_state> card = what.inner()->card();
    auto* made = new arrival(std::move(what), std::move(kept), kind);
    future<> end(*made);
    event_loop* const here = event_loop::current();
    if (made->what().inner()->came()) {
        made->came(nullptr);
    } else if (here && card->options().polling != poll_mode::thread) {
        made->loop_ = here;
        made->join();
    } else {
        made->loop_ = &card->polling();
        made->loop_->post(made->join_);
    }
    return end;
}

future<> arrival::of(event what, event_loop& on) {
    const std::shared_ptr<device_state> card = what.inner()->card();
    auto* made = new arrival(std::move(what), {}, 0);
    future<> end(*made);
    made->loop_ = card->options().polling == poll_mode::thread ? &card->polling() : &on;
    made->loop_->post(made->join_);
    return end;
}

future<> arrival::failed(failure why) {
    auto* made = new arrival(event(), {}, 0);
    future<> end(*made);
    made->came(&why);
    return end;
}

void arrival::join() noexcept { poller::of(what().inner()->card(), *loop_).add(*this); }

void arrival::end(const failure* why) noexcept {
    if (ended_.exchange(true, std::memory_order_acq_rel)) return;
    if (why) finish(*why);
    else finish();
}

void arrival::cancel() noexcept {
    static const failure cancelled(error::cancelled, "nobody waits for the device any more");
    end(&cancelled);
}

void arrival::came(const failure* why) noexcept {
    std::optional<failure> reason;
    if (why) reason = *why;  // it is the device's, which may be gone now
    kept_.reset();
    let_go();
    end(reason ? &*reason : nullptr);
    release();
}

/// The device may still use the memory, so a thread that can wait keeps it.
void arrival::forsaken() noexcept {
    device_state& card = *what().inner()->card();
    card.lifecycle().later("cuEventSynchronize", [last = what(), kept = std::move(kept_)] {
        device_state& on = *last.inner()->card();
        static_cast<void>(
            on.call("cuEventSynchronize", [&](const driver_table& driver) { return driver.cuEventSynchronize(last.inner()->handle); }));
    });
    static const failure closed(error::closed, "the event loop that waited for the device is gone");
    end(&closed);
    release();
}

std::optional<failure> refuse_to_block() {
    if (!event_loop::current()) return {};
    return failure(
        error::invalid_argument,
        "blocking for a device on the thread of an event loop would stop everything else there: use co_await, or another thread");
}

}  // namespace tutti::gpu
