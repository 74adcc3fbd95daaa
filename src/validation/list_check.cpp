#include "validation/list_check.hpp"

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
    add({each.data, each.bytes(), true}, index);
    return {};
}

void list_check::add(const part& each, std::size_t index) {
    const auto begin = reinterpret_cast<std::uintptr_t>(each.data);
    if (each.bytes > 0) ranges_.push_back({begin, begin + each.bytes, index, each.receives});
}

std::optional<std::pair<std::size_t, std::size_t>> list_check::overlap() {
    const auto before = [](const range& one, const range& other) { return one.begin < other.begin; };
    if (!std::is_sorted(ranges_.begin(), ranges_.end(), before)) std::sort(ranges_.begin(), ranges_.end(), before);
    const range* last = nullptr;          // of those passed, the one that ends last
    const range* last_written = nullptr;  // and of those that are written
    for (const range& each : ranges_) {
        const range* const other = each.written ? last : last_written;
        if (other && each.begin < other->end) return std::minmax({each.index, other->index});
        if (!last || each.end > last->end) last = &each;
        if (each.written && (!last_written || each.end > last_written->end)) last_written = &each;
    }
    return {};
}

}  // namespace tutti::detail
