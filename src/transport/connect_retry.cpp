#include "transport/connect_retry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

void connects_under_way::close() noexcept {
    closed_ = true;
    for (auto* one : open_) {
        one->end(error::closed);
        one->call_.run();
    }
}

connect_retry::connect_retry(event_loop& loop, connects_under_way& all, std::string address, time_point deadline, std::uint64_t seed)
    : loop_(loop),
      all_(all),
      address_(std::move(address)),
      begin_(loop.now()),
      deadline_(deadline),
      pauses_(seed) {
    all_.open_.insert(this);
    if (all_.closed_) end(error::closed);
}

task<bool> connect_retry::again(std::string reason, bool nobody_listens) {
    ++count_;
    reason_ = std::move(reason);
    nobody_listens_ = nobody_listens;
    return pause(pauses_.next());
}

task<bool> connect_retry::pause(duration length) {
    const auto next = std::min(later(loop_.now(), length), deadline_);
    const auto how = co_await call_.until(next, "the next attempt to connect");
    if (how == woken::by_cancel) end(error::cancelled);
    if (loop_.now() >= deadline_) end(error::timed_out);
    co_return open();
}

void connect_retry::give_up(std::string reason) {
    ++count_;
    reason_ = std::move(reason);
    end(error::system);
}

task<bool> connect_retry::worked(time_point limit) {
    const auto how = co_await call_.until(std::min(limit, deadline_), "an attempt to connect");
    if (how == woken::by_cancel) end(error::cancelled);
    if (how == woken::by_time && loop_.now() >= deadline_) {
        ++count_;
        if (reason_.empty()) reason_ = "no answer";
        end(error::timed_out);
    }
    co_return open() && how == woken::by_work;
}

failure connect_retry::why() const {
    report what;
    what.code = ended_ == error::timed_out && nobody_listens_ ? make_error_code(error::refused) : ended_;
    what.operation = "connect";
    what.address = address_;
    what.elapsed = loop_.now() - begin_;
    what.cause = fmt::format("{} after {} attempts in {:.3f} s to reach {}", ended_.message(), count_,
                             std::chrono::duration<double>(what.elapsed).count(), address_);
    if (!reason_.empty()) what.cause += ": " + reason_;
    return failure(std::move(what));
}

}  // namespace tutti
