#include "engine/slice_progress.hpp"

#include <algorithm>

namespace tutti {

void slice_progress::begin(const program& plan, std::size_t slices) {
    plan_ = &plan;
    slices_ = slices;
    rounds_ = plan.plan().rounds();
    const std::size_t steps = plan.plan().steps().size();
    counted_.resize(2 * steps + static_cast<std::size_t>(rounds_));
    done_ = std::span(counted_).first(steps);
    early_ = std::span(counted_).subspan(steps, steps);
    ended_ = std::span(counted_).subspan(2 * steps);
}

void slice_progress::rewind() noexcept {
    first_open_ = 0;
    open_transfers_ = rounds_ > 0 ? plan_->transfers(0) : 0;
    std::fill(counted_.begin(), counted_.end(), 0);
}

bool slice_progress::inside_window_among(int round, std::size_t slice, std::size_t ahead) const noexcept {
    std::size_t past = slices_;
    const int end = plan_->first_step(round + 1);
    for (int index = plan_->first_step(round); index < end; ++index) {
        const auto at = static_cast<std::size_t>(index);
        if (is_transfer(plan_->plan().steps()[at])) past = std::min(past, done_[at] + early_[at]);
    }
    return slice < past || slice - past < ahead;
}

bool slice_progress::transfers_done(int round, std::size_t slice) const noexcept {
    const int end = plan_->first_step(round + 1);
    for (int index = plan_->first_step(round); index < end; ++index) {
        const auto at = static_cast<std::size_t>(index);
        if (is_transfer(plan_->plan().steps()[at]) && done_[at] <= slice) return false;
    }
    return true;
}

}  // namespace tutti
