// A loop with a thread of its own, which begins when it is first needed, or a loop that was given.
#pragma once

#include <tutti/event_loop.hpp>

#include "base/quiet_thread.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace tutti::gpu {

class workplace {
public:
    /// Null: a thread of its own.
    explicit workplace(event_loop* given) noexcept : given_(given) {}
    workplace(const workplace&) = delete;
    workplace& operator=(const workplace&) = delete;
    ~workplace() { stop({}); }

    /// From any thread.
    event_loop& loop();
    bool has_thread() const noexcept { return given_ == nullptr; }

    /// Ends the thread. Waits for its current work, at most for `patience`; called on that thread it does not wait. Returns false when the work goes on;
    /// then the thread and its loop are left alone. Work that is posted later never runs.
    bool stop(duration patience);
    /// Waits in the same way for a thread whose own work stops the loop.
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
