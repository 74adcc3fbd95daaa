// Cancellation: a source is asked to cancel, and work that waits under one of its tokens stops waiting.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/detail/runnable.hpp>

#include <atomic>
#include <cstdint>

namespace [[gnu::visibility("default")]] tutti {

class cancel_source;
class event_loop;
namespace detail {
class cancel_callback;
}

/// A reference to a cancel_source, which must outlive it. An empty token is never cancelled.
class cancel_token {
public:
    cancel_token() = default;
    /// On the loop only.
    bool requested() const noexcept;
    explicit operator bool() const noexcept { return source_ != nullptr; }
    friend bool operator==(cancel_token, cancel_token) = default;

private:
    friend class cancel_source;
    friend class detail::cancel_callback;
    explicit cancel_token(cancel_source& source) noexcept : source_(&source) {}
    cancel_source* source_ = nullptr;
};

namespace detail {

/// Called once when its token is cancelled, unless it stops watching before.
class cancel_callback {
public:
    cancel_callback() = default;
    cancel_callback(const cancel_callback&) = delete;
    cancel_callback& operator=(const cancel_callback&) = delete;

    void unwatch() noexcept;
    virtual void cancelled() noexcept = 0;

protected:
    ~cancel_callback() { unwatch(); }
    /// Returns false if the token is cancelled already; `cancelled` is not called then.
    bool watch(cancel_token token) noexcept;

private:
    cancel_source* source_ = nullptr;
    cancel_callback* next_ = nullptr;
    cancel_callback* previous_ = nullptr;
};

}  // namespace detail

/// Requests cancellation. Work under its tokens answers by ending once, with error::cancelled or with its result.
class cancel_source final : private detail::cancel_callback, private detail::runnable {
public:
    /// Belongs to the loop that this thread runs; if none, call `request` on the tasks' loop.
    cancel_source() noexcept;
    explicit cancel_source(event_loop& loop) noexcept;
    ~cancel_source();

    /// Cancels all tokens. Any thread; off the loop it takes effect there soon. A repeated or late call does nothing.
    void request() noexcept;
    /// On the loop only.
    bool requested() const noexcept { return requested_; }
    cancel_token token() noexcept { return cancel_token(*this); }
    /// For the library: returns whether the source was made before a fork, in the parent process; its watchers are there.
    bool foreign() const noexcept;

    /// Cancels also when `parent` is cancelled. Replaces an earlier parent.
    void follow(cancel_token parent) noexcept;
    void unfollow() noexcept { unwatch(); }

private:
    friend class detail::cancel_callback;
    void cancelled() noexcept override { request(); }
    void run() noexcept override { announce(); }
    void announce() noexcept;

    event_loop* loop_;
    std::atomic<bool> posted_{false};
    bool requested_ = false;
    const std::uint32_t process_;
    detail::cancel_callback* first_ = nullptr;  // the longest watcher, cancelled first
    detail::cancel_callback* last_ = nullptr;
};

inline bool cancel_token::requested() const noexcept { return source_ != nullptr && source_->requested(); }

}  // namespace tutti
