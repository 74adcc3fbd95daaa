#include <tutti/gpu/event.hpp>

#include "gpu/arrival.hpp"
#include "gpu/event_state.hpp"

namespace tutti::gpu {

answer event_state::ask() noexcept {
    if (came()) return answer::ready;
    switch (const CUresult code = card_->driver().cuEventQuery(handle)) {
        case CUDA_SUCCESS: came_.store(true, std::memory_order_release); return answer::ready;
        case CUDA_ERROR_NOT_READY:
        case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
        case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        case CUDA_ERROR_CAPTURED_EVENT: return answer::pending;  // a capture of the program says nothing about it
        default: card_->break_down("cuEventQuery", code); return answer::broken;
    }
}

event::event(const event& other) noexcept : state_(other.state_) {
    if (state_) state_->keep();
}

event::~event() {
    if (state_) state_->release();
}

namespace {

failure never_recorded() { return failure(error::invalid_argument, "the event is empty: stream::record gives one that is not"); }

}  // namespace

void event::explain(detail::explanation& out) const { out.line("an event of a device"); }

future<> event::completed(keep_alive what) const {
    if (!state_) return arrival::failed(never_recorded());
    return arrival::of(*this, std::move(what));
}

result<bool> event::ready() const {
    if (!state_) return never_recorded();
    device_state& card = *state_->card();
    if (state_->came()) return true;
    if (const failure* why = card.fault()) return *why;
    const on_device here(card.driver(), card.context());
    const answer said = state_->ask();
    if (said == answer::broken) return *card.fault();
    return said == answer::ready;
}

result<> event::synchronize() const {
    if (!state_) return never_recorded();
    if (auto refused = refuse_to_block()) return *refused;
    return state_->card()->call("cuEventSynchronize",
                                [this](const driver_table& driver) { return driver.cuEventSynchronize(state_->handle); });
}

}  // namespace tutti::gpu
