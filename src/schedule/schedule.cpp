#include "schedule/schedule.hpp"

namespace tutti {

void schedule::end_round() {
    const int begin = ends_.empty() ? 0 : ends_.back();
    if (static_cast<int>(steps_.size()) > begin) ends_.push_back(static_cast<int>(steps_.size()));
}

std::span<const step> schedule::round(int index) const noexcept {
    const int begin = index == 0 ? 0 : ends_[static_cast<std::size_t>(index) - 1];
    const int end = ends_[static_cast<std::size_t>(index)];
    return std::span(steps_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace tutti
