// A queue of runnables that are their own nodes: nothing is allocated, and any of them can leave from the middle.
#pragma once

#include <tutti/detail/runnable.hpp>

#include "base/check.hpp"
#include "base/process.hpp"

namespace tutti::detail {

class [[gnu::visibility("hidden")]] work_list {
public:
    work_list() noexcept { close(); }
    work_list(const work_list&) = delete;
    work_list& operator=(const work_list&) = delete;
    /// Lets go of the queued work without running it.
    ~work_list() {
        while (pop() != nullptr) {}
    }

    bool empty() const noexcept { return end_.next_ == &end_; }

    /// Returns whether this process has put the work into a list. The lists of the process that forked this one are not touched.
    static bool queued(const queue_node& work) noexcept {
        return work.queued_in_.load(std::memory_order_relaxed) == this_process() + 1;
    }

    void push(runnable& work) noexcept {
        TUTTI_CHECK(!queued(work), "work is posted while it is still queued");
        work.queued_in_.store(this_process() + 1, std::memory_order_relaxed);
        join(*end_.previous_, work);
        join(work, end_);
    }

    /// Takes the oldest, or returns null.
    runnable* pop() noexcept {
        if (empty()) return nullptr;
        queue_node& oldest = *end_.next_;
        remove(oldest);
        return static_cast<runnable*>(&oldest);  // only runnables are pushed
    }

    /// Takes `work` out of whichever list it is in.
    static void remove(queue_node& work) noexcept {
        if (!queued(work)) return;
        join(*work.previous_, *work.next_);
        work.next_ = work.previous_ = nullptr;
        work.queued_in_.store(0, std::memory_order_relaxed);
    }

    /// Moves everything from `other` to the end of this one.
    void take(work_list& other) noexcept {
        if (other.empty()) return;
        join(*end_.previous_, *other.end_.next_);
        join(*other.end_.previous_, end_);
        other.close();
    }

private:
    static void join(queue_node& before, queue_node& after) noexcept {
        before.next_ = &after;
        after.previous_ = &before;
    }
    void close() noexcept { join(end_, end_); }

    queue_node end_;  // first and last of the ring
};

}  // namespace tutti::detail
