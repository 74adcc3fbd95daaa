// What several blocks become, and where that goes.
#pragma once

#include <tutti/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti {

/// Blocks of equally many elements. `own` is the first operand and gets the result; each of `also` gets it too, and may be one of `others`.
/// They overlap in no other way, and are aligned to their elements.
struct merging {
    std::byte* own = nullptr;
    std::span<const std::byte* const> others;
    std::span<std::byte* const> also;
};

/// Elements [done, end), by `combine(own, other, elements)`: in pieces that do not leave the first cache until they are copied.
template <class Combine>
void merge_in_pieces(const merging& what, std::size_t element, std::size_t done, std::size_t end, Combine&& combine) {
    constexpr std::size_t piece_bytes = 4096;
    for (std::size_t some = 0; done < end; done += some) {
        some = std::min(end - done, piece_bytes / element);
        const std::size_t at = done * element;
        for (const std::byte* const each : what.others) combine(what.own + at, each + at, some);
        for (std::byte* const each : what.also) std::memcpy(each + at, what.own + at, some * element);
    }
}

}  // namespace tutti
