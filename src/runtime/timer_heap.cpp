#include "runtime/timer_heap.hpp"

#include "base/check.hpp"

namespace tutti::detail {

timer_heap::~timer_heap() {
    for (timer_node* work : timers_) work->position_ = timer_node::not_started;
}

void timer_heap::push(timer& work, time_point when) {
    TUTTI_CHECK(!work.started(), "a timer is started twice");
    timers_.push_back(&work);
    work.when_ = when;
    work.started_in_ = this_process();
    work.order_ = started_++;
    rise(timers_.size() - 1, work);
}

void timer_heap::remove(timer_node& work) noexcept {
    if (!work.started()) return;
    const std::size_t position = work.position_;
    work.position_ = timer_node::not_started;
    timer_node& last = *timers_.back();
    timers_.pop_back();
    if (&last == &work) return;
    sink(position, last);
    rise(last.position_, last);
}

timer* timer_heap::pop(time_point now, std::uint64_t before) noexcept {
    if (empty()) return nullptr;
    timer_node& soonest = *timers_.front();
    if (soonest.when_ > now || soonest.order_ >= before) return nullptr;
    remove(soonest);
    return static_cast<timer*>(&soonest);  // only timers are pushed
}

void timer_heap::put(std::size_t position, timer_node& work) noexcept {
    timers_[position] = &work;
    work.position_ = position;
}

void timer_heap::rise(std::size_t position, timer_node& work) noexcept {
    while (position > 0) {
        timer_node& parent = *timers_[(position - 1) / 2];
        if (!sooner(work, parent)) break;
        put(position, parent);
        position = (position - 1) / 2;
    }
    put(position, work);
}

void timer_heap::sink(std::size_t position, timer_node& work) noexcept {
    for (std::size_t child = 2 * position + 1; child < timers_.size(); child = 2 * position + 1) {
        if (child + 1 < timers_.size() && sooner(*timers_[child + 1], *timers_[child])) ++child;
        if (!sooner(*timers_[child], work)) break;
        put(position, *timers_[child]);
        position = child;
    }
    put(position, work);
}

}  // namespace tutti::detail
