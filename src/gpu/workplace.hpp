// A loop to work on beside others: with a thread of its own, which begins when it is first needed, or one that somebody else runs.
#pragma once

#include <tutti/event_loop.hpp>

#include "base/quiet_thread.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace tutti::gpu {

class workplace {
public:
    /// Null: it has a thread of its own.
    explicit workplace(event_loop* given) noexcept : given_(given) {}
    workplace(const workplace&) = delete;
    workplace& operator=(const workplace&) = delete;
    ~workplace() { stop({}); }

    /// From any thread.
    event_loop& loop();
    bool has_thread() const noexcept { return given_ == nullptr; }

    /// Ends the thread: waits for what it does now, at most so long. False when it is still at it: the thread is left alone, and its loop
    /// with it. On that thread itself it does not wait. What is posted later never runs.
    bool stop(duration patience);
    /// The same where its work stops the loop.
    bool await_end(duration patience);

private:
    struct room {
        event_loop loop;
        std::mutex guard;
        std::condition_variable left;
        bool empty = false;
    };

    event_loop* const given_;
    std::mutex guard_;
    std::shared_ptr<room> room_;
    quiet_thread thread_;
};

}  // namespace tutti::gpu
