#include "runtime/fine_timer.hpp"

namespace tutti {

fine_timer::~fine_timer() {
    stop();
    if (self_) *self_ = nullptr;
}

void fine_timer::start(time_point when) {
    if (when == when_) return;
    stop();
    when_ = when;
    if (loop_.has_virtual_time()) {
        loop_.start_timer(alarm_, when);
        return;
    }
    if (!clock_) {
        clock_.emplace(io_of(loop_));
        self_ = std::make_shared<fine_timer*>(this);
    }
    clock_->expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(when));
    clock_->async_wait([self = self_, when](boost::system::error_code stopped) {
        if (!stopped && *self && (*self)->when_ == when) (*self)->due();  // otherwise a later call changed its mind
    });
    look_again(loop_);
}

void fine_timer::stop() noexcept {
    if (alarm_.started()) loop_.stop_timer(alarm_);
    if (clock_ && when_ != no_deadline) clock_->cancel();
    loop_.withdraw(come_);
    when_ = no_deadline;
}

void fine_timer::due() noexcept {
    when_ = no_deadline;
    loop_.post(come_);  // a guest's handlers are not on the loop
}

}  // namespace tutti
