// A piece of work that waits in a queue without allocating: its owner is its node.
#pragma once

#include <atomic>
#include <cstdint>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class work_list;

/// A place in a queue.
class queue_node {
public:
    queue_node() = default;
    queue_node(const queue_node&) = delete;
    queue_node& operator=(const queue_node&) = delete;

private:
    friend class work_list;
    queue_node* next_ = nullptr;
    queue_node* previous_ = nullptr;
    std::atomic<std::uint32_t> queued_in_{0};  // 0, or which process has queued it; read without the queue's lock
};

/// Posted to an event_loop and run there once. It may be posted again from its own `run`, and dies only while it is not queued
/// (event_loop::withdraw takes it out).
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
