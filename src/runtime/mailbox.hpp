// Functions that other threads run on a loop. For rare calls such as join and close, because each letter is allocated.
#pragma once

#include <tutti/event_loop.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace tutti {

class mailbox final : private detail::runnable {
public:
    explicit mailbox(event_loop& loop) noexcept : loop_(loop) {}

    /// Any thread. Returns false after close(); the letter is not run then.
    bool send(std::function<void()> letter);
    /// On the loop, or when no thread runs it. Drops the letters that have not run.
    void close() noexcept;

private:
    void run() noexcept override;

    event_loop& loop_;
    std::mutex guard_;
    std::vector<std::function<void()>> letters_;
    bool closed_ = false;
};

}  // namespace tutti
