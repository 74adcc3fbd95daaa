// The operands and the targets of merge().
#pragma once

#include <tutti/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti {

/// Blocks of equally many elements. `first` is the first operand. `own` gets the result, and may be `first`; each of `also` gets it too, and may
/// be one of `others`. They overlap in no other way, and are aligned to their elements.
struct merging {
    const std::byte* first = nullptr;
    std::span<const std::byte* const> others;
    std::byte* own = nullptr;
    std::span<std::byte* const> also;
    /// The results are not read soon, so they may be written past the caches, but not over one of `others`.
    bool past_caches = false;
};

/// Merges elements [done, end) by `combine(own, first, other, elements)`, in pieces that stay in the first-level cache until they are copied.
template <class Combine>
void merge_in_pieces(const merging& what, std::size_t element, std::size_t done, std::size_t end, Combine&& combine) {
    constexpr std::size_t piece_bytes = 4096;
    for (std::size_t some = 0; done < end; done += some) {
        some = std::min(end - done, piece_bytes / element);
        const std::size_t at = done * element;
        const std::byte* first = what.first;
        for (const std::byte* const each : what.others) {
            combine(what.own + at, first + at, each + at, some);
            first = what.own;
        }
        if (first != what.own) std::memcpy(what.own + at, first + at, some * element);
        for (std::byte* const each : what.also) std::memcpy(each + at, what.own + at, some * element);
    }
}

}  // namespace tutti
