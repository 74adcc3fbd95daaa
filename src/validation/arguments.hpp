// Checks the arguments of a call before anything is sent, on the caller's thread. The methods of communicator call these functions. Each
// returns what is wrong, or nothing; the comments say what each requires.
#pragma once

#include "engine/request.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::detail {

using complaint = std::optional<std::string>;

/// The buffer has `expected` elements. `role` names it in the complaint: "output" or "input".
complaint check_count(std::string_view role, std::size_t count, std::size_t expected);
complaint check_same_type(const_buffer from, const_buffer to);
/// Every non-empty buffer has memory, aligned for its type.
complaint check_memory(std::string_view role, const_buffer what);
/// The operator exists. An operator of the user is for elements of this type and size.
complaint check_op(const request& what);
/// The operator of a reducing call is defined for its type; if not, that is error::unsupported. The other arguments are right.
complaint check_defined(const request& what);
complaint check_rank(std::string_view role, rank which, int size);
/// The deadline is not negative.
complaint check_deadline(duration limit);
/// `count` x `size` elements of the type of `what` have at most PTRDIFF_MAX bytes.
complaint check_total(const_buffer what, std::size_t count, int size);
/// There is one count for each of `size` ranks. Their sum has at most PTRDIFF_MAX bytes as elements of `what`. `role` is "counts", "send
/// counts" or "recv counts".
complaint check_counts(std::string_view role, std::span<const std::size_t> counts, int size, const_buffer what);
/// The two share no byte, unless one of them begins exactly at `allowed`.
complaint check_overlap(const_buffer from, const_buffer to, const void* allowed);

/// Returns whether a buffer is right beyond doubt: memory aligned for a type of known size, and a count whose bytes cannot overflow. Most
/// calls bring such a buffer and skip the full check.
inline bool usual(const_buffer what) noexcept {
    constexpr std::size_t most = std::size_t{1} << 48;
    const std::size_t element = size_of(what.type);
    return element > 0 && what.data && what.count < most && (reinterpret_cast<std::uintptr_t>(what.data) & (element - 1)) == 0;
}

/// Input and output have the same type and count, are right, and are the same memory or share no byte.
complaint check_operands_fully(const_buffer from, const_buffer to);
inline complaint check_operands(const_buffer from, const_buffer to) {
    const bool same = from.data == to.data && from.count == to.count && from.type == to.type;
    return same && usual(from) ? complaint() : check_operands_fully(from, to);
}

/// Returns the first complaint, or nothing.
template <class... Complaints>
complaint first_of(Complaints... each) {
    complaint found;
    static_cast<void>(((each && (found = std::move(each), true)) || ...));
    return found;
}

}  // namespace tutti::detail
