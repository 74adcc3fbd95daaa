// A flag that tasks can wait for. Set, it stays set, and lets everybody pass, until it is reset.
#pragma once

#include <tutti/detail/waiting.hpp>

namespace tutti {

/// Used on its loop only. It outlives those who wait for it.
class event {
public:
    event() = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    bool is_set() const noexcept { return set_; }
    /// Those who wait go on in the order in which they came.
    void set() noexcept;
    void reset() noexcept { set_ = false; }

    class awaiter final : detail::waiting {
    public:
        explicit awaiter(event& what) noexcept : event_(what) {}
        ~awaiter() { give_up(); }

        bool await_ready() const noexcept { return event_.set_; }
        template <detail::task_promise Promise>
        bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
            return begin(who.promise()) && event_.queue(*this);
        }
        void await_resume() const { throw_if_cancelled(); }
        void explain(detail::explanation& out) const { out.line("an event"); }

    private:
        friend class event;
        void give_up() noexcept override;

        event& event_;
        awaiter* next_ = nullptr;
        awaiter* previous_ = nullptr;
        bool queued_ = false;
    };
    /// `co_await done.wait()`
    awaiter wait() noexcept { return awaiter(*this); }

private:
    bool queue(awaiter& who) noexcept;

    awaiter* first_ = nullptr;
    awaiter* last_ = nullptr;
    bool set_ = false;
};

}  // namespace tutti
