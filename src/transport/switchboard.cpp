#include "transport/switchboard.hpp"

#include "transport/wake_call.hpp"

#include <fmt/format.h>

namespace tutti {

task<result<std::unique_ptr<link>>> arrivals::accept() {
    struct listening {
        explicit listening(arrivals& to) noexcept : where(to) {}
        ~listening() { where.stop_waiting(); }
        arrivals& where;
        wake_call call;
    } me{*this};
    for (;;) {
        if (auto one = take()) co_return one;
        if (closed()) co_return failure(error::closed, "the transport was closed");
        when_any(me.call);
        const auto how = co_await me.call.until(no_deadline, "somebody who connects");
        if (how == woken::by_cancel) co_return failure(error::cancelled, "nobody connected before the wait was cancelled");
    }
}

bool arrivals::offer(const link_maker& make) {
    const std::scoped_lock lock{mutex_};
    if (closed_ || links_.size() == limit) return false;
    links_.push_back(make(loop_));
    waiting_.wake();
    return true;
}

std::unique_ptr<link> arrivals::take() {
    const std::scoped_lock lock{mutex_};
    if (links_.empty()) return nullptr;
    auto one = std::move(links_.front());
    links_.pop_front();
    return one;
}

void arrivals::when_any(detail::runnable& work) noexcept {
    const std::scoped_lock lock{mutex_};
    waiting_.expect(work);
    if (closed_ || !links_.empty()) waiting_.wake();
}

void arrivals::stop_waiting() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        waiting_.disarm();
    }
    waiting_.forget();
}

bool arrivals::closed() const {
    const std::scoped_lock lock{mutex_};
    return closed_;
}

void arrivals::close() noexcept {
    std::deque<std::unique_ptr<link>> unwanted;  // destroyed after the lock is released: closing takes the locks of their other ends
    const std::scoped_lock lock{mutex_};
    closed_ = true;
    unwanted.swap(links_);
    waiting_.wake();
}

std::string switchboard::open(arrivals& where) {
    const std::scoped_lock lock{mutex_};
    auto address = fmt::format("{}:{}", kind_, opened_++);
    open_.emplace(address, &where);
    return address;
}

void switchboard::close(const std::string& address) {
    const std::scoped_lock lock{mutex_};
    open_.erase(address);
}

std::string switchboard::offer(const std::string& address, const link_maker& make) {
    const std::scoped_lock lock{mutex_};
    const auto found = open_.find(address);
    if (found == open_.end()) return "nobody listens there";
    return found->second->offer(make) ? "" : "it accepts no more links";
}

}  // namespace tutti
