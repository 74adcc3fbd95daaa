#include "engine/cursor.hpp"

namespace tutti {

bool cursor::last() const noexcept {
    return group_ + 1 == way_->groups.size() && slice_ + 1 == cut_->slices && inside_ + 1 == way_->groups[group_].count;
}

void cursor::end_group() noexcept {
    const std::size_t end = segment_end();
    if (++group_ == way_->groups.size() && end < cut_->slices) {
        segment_ = end;
        group_ = 0;
    }
    slice_ = segment_;
    inside_ = 0;
}

bool cursor::skip(std::size_t frames) noexcept {
    while (!ended()) {
        const auto steps = static_cast<std::size_t>(way_->groups[group_].count);
        const std::size_t to = (slice_ - segment_) * steps + static_cast<std::size_t>(inside_) + frames,
                          all = (segment_end() - segment_) * steps;
        if (to < all) {
            slice_ = segment_ + to / steps;
            inside_ = static_cast<int>(to % steps);
            return true;
        }
        frames = to - all;
        end_group();
    }
    return false;
}

}  // namespace tutti
