// What is behind a stream.
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
    /// Has its own destroyed; what is enqueued is done all the same.
    ~stream_state();

    const std::shared_ptr<device_state>& card() const noexcept { return card_; }
    CUstream handle() const noexcept { return handle_; }
    result<event_state*> record();
    /// Where no event can tell when `what` is not needed any more.
    void keep_until_idle(keep_alive what);

private:
    const std::shared_ptr<device_state> card_;
    const CUstream handle_;
    const bool owned_;
    const std::uint64_t number_;  // handles of the driver come again, and two streams in one line would be in no order
    std::mutex guard_;            // recording and the ticket go together
    std::uint64_t tickets_ = 0;
};

/// error::unsupported while a stream is being captured, and where each thread has its own. With the device current.
result<> refuse_stream(device_state& card, CUstream stream);

}  // namespace tutti::gpu
