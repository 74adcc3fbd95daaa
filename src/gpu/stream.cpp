#include <tutti/gpu/stream.hpp>

#include "gpu/arrival.hpp"
#include "gpu/stream_state.hpp"

#include <atomic>

namespace tutti::gpu {
namespace {

std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Smaller is more urgent; the middle is 0.
int urgency(const driver_table& driver, stream_priority wanted) {
    int least = 0, greatest = 0;
    if (wanted == stream_priority::normal || driver.cuCtxGetStreamPriorityRange(&least, &greatest) != CUDA_SUCCESS) return 0;
    return wanted == stream_priority::high ? greatest : least;
}

}  // namespace

// ---- the state

stream_state::stream_state(std::shared_ptr<device_state> card, CUstream handle, bool owned)
    : card_(std::move(card)),
      handle_(handle),
      owned_(owned),
      number_(next_number()) {}

stream_state::~stream_state() {
    if (!owned_) return;
    card_->lifecycle().later("cuStreamDestroy", [card = card_.get(), handle = handle_] {
        const on_device here(card->driver(), card->context());
        card->driver().cuStreamDestroy(handle);
    });
}

result<> refuse_stream(device_state& card, CUstream stream) {
    if (stream == CU_STREAM_PER_THREAD)
        return failure(error::unsupported, "CU_STREAM_PER_THREAD is another stream on each thread: a stream that is made is expected");
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult code = card.driver().cuStreamIsCapturing(stream, &status);
    if (code == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE) return {};
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return card.failed("cuStreamIsCapturing", code);
    return failure(error::unsupported, "the stream is being captured into a graph: what is awaited cannot be part of one");
}

result<event_state*> stream_state::record() {
    if (const failure* why = card_->fault()) return *why;
    const driver_table& driver = card_->driver();
    const on_device here(driver, card_->context());
    if (auto free = refuse_stream(*card_, handle_); !free) return free.failure();
    const std::lock_guard lock(guard_);
    CUevent handle = nullptr;
    if (const CUresult code = card_->events().take(handle); code != CUDA_SUCCESS) return card_->failed("cuEventCreate", code);
    if (const CUresult code = driver.cuEventRecord(handle, handle_); code != CUDA_SUCCESS) {
        card_->events().give(handle);
        return card_->failed("cuEventRecord", code);
    }
    return new event_state(card_, handle, number_, ++tickets_);
}

void stream_state::keep_until_idle(keep_alive what) {
    card_->lifecycle().later("cuStreamSynchronize", [card = card_.get(), handle = handle_, kept = std::move(what)] {
        static_cast<void>(
            card->call("cuStreamSynchronize", [&](const driver_table& driver) { return driver.cuStreamSynchronize(handle); }));
    });
}

// ---- the handle

result<stream> stream::make(const device& where, stream_priority priority) {
    CUstream handle = nullptr;
    const auto made = where.inner()->call("cuStreamCreateWithPriority", [&](const driver_table& driver) {
        return driver.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, urgency(driver, priority));
    });
    if (!made) return made.failure();
    return stream(std::make_shared<stream_state>(where.inner(), handle, true));
}

stream stream::borrow(const device& where, CUstream_st* handle) {
    return stream(std::make_shared<stream_state>(where.inner(), handle, false));
}

CUstream_st* stream::handle() const noexcept { return state_->handle(); }
device stream::on() const { return device(state_->card()); }

result<event> stream::record() const {
    auto made = state_->record();
    if (!made) return made.failure();
    return event(*made);
}

result<> stream::wait(const event& what) const {
    if (!what.valid()) return failure(error::invalid_argument, "the event to wait for is empty: stream::record gives one that is not");
    device_state& card = *state_->card();
    {
        const on_device here(card.driver(), card.context());
        if (auto free = refuse_stream(card, state_->handle()); !free) return free;
    }
    if (what.inner()->came()) return {};
    return card.call("cuStreamWaitEvent",
                     [&](const driver_table& driver) { return driver.cuStreamWaitEvent(state_->handle(), what.inner()->handle, 0); });
}

future<> stream::completed(keep_alive what) const {
    auto here = record();
    if (!here) {
        if (what) state_->keep_until_idle(std::move(what));
        return arrival::failed(here.failure());
    }
    return arrival::of(std::move(*here), std::move(what));
}

result<> stream::synchronize() const {
    if (auto refused = refuse_to_block()) return *refused;
    return state_->card()->call("cuStreamSynchronize",
                                [this](const driver_table& driver) { return driver.cuStreamSynchronize(state_->handle()); });
}

}  // namespace tutti::gpu
