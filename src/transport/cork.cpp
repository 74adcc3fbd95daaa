#include "transport/cork.hpp"

#include "transport/lane.hpp"

#include <utility>

namespace tutti {

bool cork::keep(lane& one) noexcept {
    if (holders_ == 0) return false;
    if (std::exchange(one.kept_, true)) return true;
    one.next_kept_ = nullptr;
    (first_ ? last_->next_kept_ : first_) = &one;
    last_ = &one;
    return true;
}

/// A frame that has been sent may let its port queue the next, which is sent here, too.
void cork::send_kept() noexcept {
    while (first_) {
        lane& next = *std::exchange(first_, first_->next_kept_);
        next.kept_ = false;
        if (!next.pumping_ && !next.waiting_writable_) next.pump_send();
    }
}

}  // namespace tutti
