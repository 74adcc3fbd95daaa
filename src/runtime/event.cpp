#include "runtime/event.hpp"

namespace tutti {

void event::set() noexcept {
    set_ = true;
    while (first_ != nullptr) {
        awaiter& oldest = *first_;
        oldest.give_up();
        oldest.end();
    }
}

bool event::queue(awaiter& who) noexcept {
    who.previous_ = last_;
    (last_ == nullptr ? first_ : last_->next_) = &who;
    last_ = &who;
    who.queued_ = true;
    return true;
}

void event::awaiter::give_up() noexcept {
    if (!queued_) return;
    (previous_ == nullptr ? event_.first_ : previous_->next_) = next_;
    (next_ == nullptr ? event_.last_ : next_->previous_) = previous_;
    queued_ = false;
}

}  // namespace tutti
