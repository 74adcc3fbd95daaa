#include "communicator/list_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tutti::detail {

complaint list_check::operator()(std::span<const buffer> list, std::size_t& total) {
    total = 0;
    for (std::size_t index = 0; index < list.size(); ++index) {
        const buffer& each = list[index];
        if (check_memory("buffer", each)) return check_memory(fmt::format("list's buffer {}", index), each);
        if (each.type == list[0].type && each.element_bytes() != list[0].element_bytes())
            return fmt::format("the list's buffer {} holds elements of {} bytes, buffer 0 of {}", index, each.element_bytes(), list[0].element_bytes());
        if (each.type != list[0].type)
            return fmt::format("the list's buffer {} holds {}, buffer 0 holds {}", index, name(each.type), name(list[0].type));
        const std::size_t limit = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / std::max<std::size_t>(1, each.element_bytes());
        if (each.count > limit - total) return fmt::format("the list has more elements than memory can hold, from buffer {} on", index);
        total += each.count;
    }
    return overlap(list);
}

complaint list_check::overlap(std::span<const buffer> list) {
    const std::lock_guard lock(guard_);
    ranges_.clear();
    for (std::size_t index = 0; index < list.size(); ++index) {
        const auto begin = reinterpret_cast<std::uintptr_t>(list[index].data);
        if (list[index].count > 0) ranges_.push_back({begin, begin + list[index].bytes(), index});
    }
    const auto before = [](const range& one, const range& other) { return one.begin < other.begin; };
    if (!std::is_sorted(ranges_.begin(), ranges_.end(), before)) std::sort(ranges_.begin(), ranges_.end(), before);
    const auto found =
        std::adjacent_find(ranges_.begin(), ranges_.end(), [](const range& one, const range& next) { return next.begin < one.end; });
    if (found == ranges_.end()) return {};
    const auto [first, second] = std::minmax(found->index, std::next(found)->index);
    return fmt::format("the list's buffers {} and {} overlap", first, second);
}

}  // namespace tutti::detail
