// Work that waits in a queue without an allocation, because its owner is the node.
#pragma once

#include <atomic>
#include <cstdint>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class work_list;

/// A node of a queue.
class queue_node {
public:
    queue_node() = default;
    queue_node(const queue_node&) = delete;
    queue_node& operator=(const queue_node&) = delete;

private:
    friend class work_list;
    queue_node* next_ = nullptr;
    queue_node* previous_ = nullptr;
    std::atomic<std::uint32_t> queued_in_{0};  // 0, or the process that has queued it; read without the queue's lock
};

/// Work that is posted to an event_loop, and runs there once. It may be posted again from its own `run`. It must not be destroyed while it
/// is queued (event_loop::withdraw removes it).
class runnable : public queue_node {
public:
    virtual void run() noexcept = 0;

protected:
    ~runnable() = default;
};

/// Calls `Member` of `Owner`: `callback<&lane::readable> readable_{*this};`
template <auto Member>
class callback;

template <class Owner, void (Owner::*Member)() noexcept>
class callback<Member> final : public runnable {
public:
    explicit callback(Owner& owner) noexcept : owner_(owner) {}
    void run() noexcept override { (owner_.*Member)(); }

private:
    Owner& owner_;
};

}  // namespace detail
}  // namespace tutti
