#include <tutti/error.hpp>
#include <tutti/when_all.hpp>

namespace tutti::detail {

void throw_no_tasks() { throw failure(error::invalid_argument, "when_any needs at least one task"); }

deadline::deadline(promise_base& who, time_point when) : loop_(who.loop()), source_(loop_) {
    source_.follow(who.token());
    who.obey(source_.token());
    loop_.start_timer(alarm_, when);
}

void deadline::pass() noexcept {
    passed_ = !source_.requested();
    source_.request();
}

void deadline::translate(const failure& why) const {
    if (passed_ && why.code() == error::cancelled) throw failure(error::timed_out, "the deadline passed");
}

second_token::second_token(promise_base& who, cancel_token token) : source_(who.loop()) {
    source_.follow(who.token());
    who.obey(source_.token());
    link_.follow(token);
}

}  // namespace tutti::detail
