// A piece of work that waits in a queue without allocating: its owner is its node.
#pragma once

namespace tutti {
class event_loop;
}

namespace tutti::detail {

/// Posted to an event_loop and run there once. It may be posted again from its own `run`, and dies only while it is not queued
/// (event_loop::withdraw takes it out).
class runnable {
public:
    runnable() = default;
    runnable(const runnable&) = delete;
    runnable& operator=(const runnable&) = delete;

    virtual void run() noexcept = 0;

protected:
    ~runnable() = default;

private:
    friend class tutti::event_loop;
    runnable* next_ = nullptr;
    runnable* previous_ = nullptr;
    bool queued_ = false;
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

}  // namespace tutti::detail
