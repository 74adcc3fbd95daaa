// The inside of a `stream`.
#pragma once

#include "gpu/event_state.hpp"

#include <tutti/gpu/event.hpp>

#include <cstdint>
#include <memory>
#include <mutex>

namespace tutti::gpu {

class [[gnu::visibility("hidden")]] stream_state final {
public:
    stream_state(std::shared_ptr<device_state> card, CUstream handle, bool owned);
    stream_state(const stream_state&) = delete;
    stream_state& operator=(const stream_state&) = delete;
    /// Has an owned stream destroyed on the lifecycle's thread. Enqueued work is done all the same.
    ~stream_state();

    const std::shared_ptr<device_state>& card() const noexcept { return card_; }
    CUstream handle() const noexcept { return handle_; }
    result<event_state*> record();
    /// Keeps `what` until the stream is idle, where no event could be recorded behind its last use.
    void keep_until_idle(keep_alive what);

private:
    const std::shared_ptr<device_state> card_;
    const CUstream handle_;
    const bool owned_;
    const std::uint64_t number_;  // not the handle: the driver reuses handles, and a stream_line must not mix two streams
    std::mutex guard_;            // recording and the ticket go together
    std::uint64_t tickets_ = 0;
};

/// Returns error::unsupported for a stream that is being captured, and for the per-thread default stream. With the device current.
result<> refuse_stream(device_state& card, CUstream stream);

}  // namespace tutti::gpu
