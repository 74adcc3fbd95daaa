// What can be wrong with a call's arguments, found before anything is sent. Every function gives the reason, or nothing.
#pragma once

#include "engine/request.hpp"

#include <optional>
#include <string>

namespace tutti::detail {

using complaint = std::optional<std::string>;

/// `expected` elements in `what`; `role` is "output" or "input".
complaint check_count(std::string_view role, std::size_t count, std::size_t expected);
complaint check_same_type(const_buffer from, const_buffer to);
/// Every non-empty buffer has memory, aligned for its type.
complaint check_memory(std::string_view role, const_buffer what);
complaint check_op(reduce_op op);
complaint check_rank(std::string_view role, rank which, int size);
/// `count` x `size` elements can be counted, and their bytes too.
complaint check_total(std::size_t count, int size, data_type type);
/// A count for each of `size` ranks, whose sum can be counted, and its bytes too. `role` is "counts", "send counts" or "recv counts".
complaint check_counts(std::string_view role, std::span<const std::size_t> counts, int size, data_type type);
/// The prefix reductions have no average.
complaint check_prefix_op(reduce_op op);
/// The two overlap in no byte, unless `to` begins exactly at `allowed`.
complaint check_overlap(const_buffer from, const_buffer to, const void* allowed);

/// The first complaint of several.
template <class... Complaints>
complaint first_of(Complaints... each) {
    complaint found;
    ((found = found ? found : std::move(each)), ...);
    return found;
}

}  // namespace tutti::detail
