// Functions that other threads want to be run on a loop. For rare things: it allocates.
#pragma once

#include <tutti/event_loop.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace tutti {

class mailbox final : private detail::runnable {
public:
    explicit mailbox(event_loop& loop) noexcept : loop_(loop) {}

    /// From any thread; false, and `letter` is not run, after `close`.
    bool send(std::function<void()> letter);
    /// On the loop, or when nobody runs it. What has not run is dropped.
    void close() noexcept;

private:
    void run() noexcept override;

    event_loop& loop_;
    std::mutex guard_;
    std::vector<std::function<void()>> letters_;
    bool closed_ = false;
};

}  // namespace tutti
