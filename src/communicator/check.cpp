#include "communicator/check.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace tutti::detail {

/// Whether its name and size can be told; check_memory complains where not.
static bool known(data_type type) noexcept { return static_cast<int>(type) < data_type_count; }

complaint check_count(std::string_view role, std::size_t count, std::size_t expected) {
    if (count == expected) return {};
    return fmt::format("the {} has {} elements, {} are expected", role, count, expected);
}

complaint check_same_type(const_buffer from, const_buffer to) {
    if (from.type == to.type || !known(from.type) || !known(to.type)) return {};
    return fmt::format("the input holds {}, the output {}", name(from.type), name(to.type));
}

complaint check_memory(std::string_view role, const_buffer what) {
    if (!known(what.type)) return fmt::format("the {} has no data type", role);
    if (what.count == 0) return {};
    if (!what.data) return fmt::format("the {} of {} elements is a null pointer", role, what.count);
    if (reinterpret_cast<std::uintptr_t>(what.data) % size_of(what.type) != 0) return fmt::format("the {} is not aligned for {}", role, name(what.type));
    return {};
}

complaint check_op(reduce_op op) {
    if (static_cast<int>(op) < reduce_op_count) return {};
    return fmt::format("there is no operator number {}", static_cast<int>(op));
}

complaint check_rank(std::string_view role, rank which, int size) {
    if (which >= 0 && which < size) return {};
    return fmt::format("{} {} is not among the ranks 0 to {}", role, which, size - 1);
}

complaint check_total(std::size_t count, int size, data_type type) {
    if (!known(type)) return {};
    const auto limit = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size_of(type) / static_cast<std::size_t>(size);
    if (count <= limit) return {};
    return fmt::format("{} elements of {} for each of {} ranks are more than memory can hold", count, name(type), size);
}

complaint check_counts(std::string_view role, std::span<const std::size_t> counts, int size, data_type type) {
    if (counts.size() != static_cast<std::size_t>(size)) return fmt::format("there are {} {} for {} ranks", counts.size(), role, size);
    if (!known(type)) return {};
    std::size_t room = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size_of(type);
    for (const std::size_t count : counts) {
        if (count > room) return fmt::format("the {} add up to more elements of {} than memory can hold", role, name(type));
        room -= count;
    }
    return {};
}

complaint check_prefix_op(reduce_op op) {
    if (op != reduce_op::avg) return {};
    return std::string("there is no avg of the ranks up to this one");
}

complaint check_overlap(const_buffer from, const_buffer to, const void* allowed) {
    if (!known(from.type) || !known(to.type)) return {};
    if (from.count == 0 || to.count == 0 || (allowed && (from.data == allowed || to.data == allowed))) return {};
    // As numbers: what is asked for may be more than any memory holds.
    const auto first = reinterpret_cast<std::uintptr_t>(from.data), second = reinterpret_cast<std::uintptr_t>(to.data);
    if (first <= second ? from.bytes() <= second - first : to.bytes() <= first - second) return {};
    return std::string("input and output overlap in a way that this operation does not allow");
}

}  // namespace tutti::detail
