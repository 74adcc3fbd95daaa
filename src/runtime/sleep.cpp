#include <tutti/error.hpp>
#include <tutti/sleep.hpp>

#include <fmt/format.h>

namespace tutti::detail {

void throw_cancelled() {
    static const failure cancelled(error::cancelled, "the wait was cancelled");  // the losers of a when_any are many: no text for each
    throw cancelled;
}

bool sleep_awaiter::start(promise_base& who) {
    if (!begin(who)) return false;
    if (relative_) until_ = later(who.loop().now(), length_);
    who.loop().start_timer(alarm_, until_);
    return true;
}

void sleep_awaiter::give_up() noexcept {
    if (alarm_.started()) loop().stop_timer(alarm_);
}

void sleep_awaiter::explain(explanation& out) const {
    if (until_ == no_deadline) return out.line("a date that never comes");
    if (!alarm_.started()) return out.line("a timer whose loop is gone");
    const auto left = std::chrono::duration<double>(until_ - loop().now());
    out.line(fmt::format("a timer due in {:.3f} s", left.count()));
}

void yield_awaiter::await_resume() const {
    if (cancelled_) throw_cancelled();
}

}  // namespace tutti::detail
