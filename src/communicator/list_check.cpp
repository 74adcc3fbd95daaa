#include "communicator/list_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tutti::detail {

complaint list_check::add(const const_buffer& each, const const_buffer& first, std::size_t index, std::size_t& total) {
    if (check_memory("buffer", each)) return check_memory(fmt::format("list's buffer {}", index), each);
    if (each.type == first.type && each.element_bytes() != first.element_bytes())
        return fmt::format("the list's buffer {} holds elements of {} bytes, buffer 0 of {}", index, each.element_bytes(),
                           first.element_bytes());
    if (each.type != first.type)
        return fmt::format("the list's buffer {} holds {}, buffer 0 holds {}", index, name(each.type), name(first.type));
    const std::size_t limit =
        static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / std::max<std::size_t>(1, each.element_bytes());
    if (each.count > limit - total) return fmt::format("the list has more elements than memory can hold, from buffer {} on", index);
    total += each.count;
    const auto begin = reinterpret_cast<std::uintptr_t>(each.data);
    if (each.count > 0) ranges_.push_back({begin, begin + each.bytes(), index});
    return {};
}

complaint list_check::overlap() {
    const auto before = [](const range& one, const range& other) { return one.begin < other.begin; };
    if (!std::is_sorted(ranges_.begin(), ranges_.end(), before)) std::sort(ranges_.begin(), ranges_.end(), before);
    const auto found =
        std::adjacent_find(ranges_.begin(), ranges_.end(), [](const range& one, const range& next) { return next.begin < one.end; });
    if (found == ranges_.end()) return {};
    const auto [first, second] = std::minmax(found->index, std::next(found)->index);
    return fmt::format("the list's buffers {} and {} overlap", first, second);
}

}  // namespace tutti::detail
