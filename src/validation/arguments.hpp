// What can be wrong with a call's arguments, found before anything is sent. Every function gives the reason, or nothing.
#pragma once

#include "engine/request.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::detail {

using complaint = std::optional<std::string>;

/// `expected` elements in `what`; `role` is "output" or "input".
complaint check_count(std::string_view role, std::size_t count, std::size_t expected);
complaint check_same_type(const_buffer from, const_buffer to);
/// Every non-empty buffer has memory, aligned for its type.
complaint check_memory(std::string_view role, const_buffer what);
/// There is such an operator; one of the user's is for elements of this type and size.
complaint check_op(const request& what);
/// The operator of a reducing call is defined for its type. The arguments are right otherwise.
complaint check_defined(const request& what);
complaint check_rank(std::string_view role, rank which, int size);
/// It is not negative.
complaint check_deadline(duration limit);
/// `count` x `size` elements, of the kind that `what` holds, can be counted, and their bytes too.
complaint check_total(const_buffer what, std::size_t count, int size);
/// A count for each of `size` ranks, whose sum, of elements as `what` holds, can be counted, and its bytes too. `role` is "counts",
/// "send counts" or "recv counts".
complaint check_counts(std::string_view role, std::span<const std::size_t> counts, int size, const_buffer what);
/// The two overlap in no byte, unless `to` begins exactly at `allowed`.
complaint check_overlap(const_buffer from, const_buffer to, const void* allowed);

/// Whether it is what most calls bring: elements of a type with arithmetic, as many as can be counted, in memory aligned for them.
inline bool usual(const_buffer what) noexcept {
    constexpr std::size_t most = std::size_t{1} << 48;
    const std::size_t element = size_of(what.type);
    return element > 0 && what.data && what.count < most && (reinterpret_cast<std::uintptr_t>(what.data) & (element - 1)) == 0;
}

/// As many elements of one type in as out, of one rank's: both are right, and lie apart or are one.
complaint check_operands_fully(const_buffer from, const_buffer to);
inline complaint check_operands(const_buffer from, const_buffer to) {
    const bool same = from.data == to.data && from.count == to.count && from.type == to.type;
    return same && usual(from) ? complaint() : check_operands_fully(from, to);
}

/// The first complaint of several.
template <class... Complaints>
complaint first_of(Complaints... each) {
    complaint found;
    static_cast<void>(((each && (found = std::move(each), true)) || ...));
    return found;
}

}  // namespace tutti::detail
