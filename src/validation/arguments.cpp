#include "validation/arguments.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace tutti::detail {

/// Returns whether the buffer's type has a name and a size; if not, check_memory complains.
static bool known(const_buffer what) noexcept { return static_cast<int>(what.type) < data_type_count && what.element_bytes() > 0; }

static std::string name_of(data_type type, std::size_t element_bytes) {
    return type == data_type::opaque ? fmt::format("opaque({} bytes)", element_bytes) : std::string(name(type));
}
static std::string name_of(const_buffer what) { return name_of(what.type, what.element_bytes()); }

/// Returns the alignment that the type's arithmetic needs: a complex number is loaded as two numbers.
static std::size_t alignment_of(data_type type) noexcept {
    return type == data_type::opaque ? 1 : is_complex(type) ? size_of(type) / 2 : size_of(type);
}

complaint check_count(std::string_view role, std::size_t count, std::size_t expected) {
    if (count == expected) return {};
    return fmt::format("the {} has {} elements, {} are expected", role, count, expected);
}

complaint check_same_type(const_buffer from, const_buffer to) {
    if (!known(from) || !known(to) || (from.type == to.type && from.element_bytes() == to.element_bytes())) return {};
    return fmt::format("the input holds {}, the output {}", name_of(from), name_of(to));
}

complaint check_memory(std::string_view role, const_buffer what) {
    if (static_cast<int>(what.type) >= data_type_count) return fmt::format("the {} has no data type", role);
    if (what.element_bytes() == 0) return fmt::format("the {} has elements of 0 bytes", role);
    if (what.element_bytes() > std::numeric_limits<std::uint32_t>::max())
        return fmt::format("the {} has elements of more than 4 GiB", role);
    if (what.count == 0) return {};
    if (!what.data) return fmt::format("the {} of {} elements is a null pointer", role, what.count);
    if ((reinterpret_cast<std::uintptr_t>(what.data) & (alignment_of(what.type) - 1)) != 0)
        return fmt::format("the {} is not aligned for {}", role, name(what.type));
    return {};
}

complaint check_op(const request& what) {
    const detail::user_op* user = what.op.user();
    if (static_cast<int>(what.op.kind()) >= reduce_op_count)
        return fmt::format("there is no operator number {}", static_cast<int>(what.op.kind()));
    if (what.op.kind() != reduce_op::custom) return {};
    if (!user) return std::string("a custom operator needs its custom_op or untyped_op");
    if (user->type() != what.type || user->element_bytes() != what.element_bytes())
        return fmt::format("operator '{}' combines {}, the elements are {}", user->name(), name_of(user->type(), user->element_bytes()),
                           name_of(what.type, what.element_bytes()));
    for (const void* each : {what.input, static_cast<const void*>(what.output)})
        if (what.count > 0 && reinterpret_cast<std::uintptr_t>(each) % user->alignment() != 0)
            return fmt::format("the elements are not aligned for operator '{}'", user->name());
    for (const auto list : {what.list, what.input_list})
        for (const buffer& each : list)
            if (each.count > 0 && reinterpret_cast<std::uintptr_t>(each.data) % user->alignment() != 0)
                return fmt::format("the elements are not aligned for operator '{}'", user->name());
    return {};
}

complaint check_defined(const request& what) {
    if (what.kind == collective::exclusive_scan && what.op.user() && what.op.user()->identity().empty())
        return fmt::format("rank 0 gets what changes nothing, and operator '{}' was made without an identity: give one to its constructor",
                           what.op.user()->name());
    if (!reduces(what.kind) || what.op.user() || defined(what.op.kind(), what.type)) return {};
    return fmt::format("operator {} is not defined for {}", name(what.op.kind()), name_of(what.type, what.element_bytes()));
}

complaint check_deadline(duration limit) {
    if (limit >= duration{}) return {};
    return fmt::format("a deadline of {:g} s", std::chrono::duration<double>(limit).count());
}

complaint check_rank(std::string_view role, rank which, int size) {
    if (which >= 0 && which < size) return {};
    return fmt::format("{} {} is not among the ranks 0 to {}", role, which, size - 1);
}

complaint check_total(const_buffer what, std::size_t count, int size) {
    if (!known(what)) return {};
    std::size_t bytes = 0;
    const bool counted = !__builtin_mul_overflow(count, what.element_bytes(), &bytes) &&
                         !__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes);
    if (counted && bytes <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return {};
    if (size == 1) return fmt::format("{} elements of {} are more than memory can hold", count, name_of(what));
    return fmt::format("{} elements of {} for each of {} ranks are more than memory can hold", count, name_of(what), size);
}

complaint check_counts(std::string_view role, std::span<const std::size_t> counts, int size, const_buffer what) {
    if (counts.size() != static_cast<std::size_t>(size)) return fmt::format("there are {} {} for {} ranks", counts.size(), role, size);
    if (!known(what)) return {};
    std::size_t room = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / what.element_bytes();
    for (const std::size_t count : counts) {
        if (count > room) return fmt::format("the {} add up to more elements of {} than memory can hold", role, name_of(what));
        room -= count;
    }
    return {};
}

complaint check_overlap(const_buffer from, const_buffer to, const void* allowed) {
    if (!known(from) || !known(to)) return {};
    if (from.count == 0 || to.count == 0 || (allowed && (from.data == allowed || to.data == allowed))) return {};
    // As numbers: what is asked for may be more than any memory holds.
    const auto first = reinterpret_cast<std::uintptr_t>(from.data), second = reinterpret_cast<std::uintptr_t>(to.data);
    if (first <= second ? from.bytes() <= second - first : to.bytes() <= first - second) return {};
    return std::string("input and output overlap in a way that this operation does not allow");
}

complaint check_operands_fully(const_buffer from, const_buffer to) {
    const bool same = from.data == to.data && from.count == to.count && from.type == to.type && from.opaque_bytes == to.opaque_bytes;
    if (same) return first_of(check_memory("input", from), check_total(from, from.count, 1));
    return first_of(check_same_type(from, to), check_count("output", to.count, from.count), check_memory("input", from),
                    check_memory("output", to), check_total(from, from.count, 1),
                    check_overlap(from, to, to.data == from.data ? to.data : nullptr));
}

}  // namespace tutti::detail
