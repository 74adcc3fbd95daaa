// The elements of a block, and of a slice of a block. Blocks are neighbouring parts: equal ones, one for each rank, or near-equal ones, or of
// sizes that the caller gave; slices are near-equal parts of their block. Near-equal parts fill whole packets where the caller asks for that.
#pragma once

#include <tutti/types.hpp>

#include "base/pieces.hpp"

#include <algorithm>
#include <cstddef>

namespace tutti {

/// `count` elements from `first`.
struct part {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const part&, const part&) = default;
};

/// Returns the `index`-th of `parts` near-equal parts of `count` elements, the longer ones first.
constexpr part part_of(std::size_t count, std::size_t parts, std::size_t index) noexcept {
    if (parts == 1) return {0, count};
    const std::size_t base = count / parts, longer = count % parts;
    return {index * base + std::min(index, longer), base + (index < longer ? 1 : 0)};
}

/// Returns such a part, but as many parts as possible are multiples of `grain`. The last ones are longer then, by at most a quarter of it.
constexpr part part_of(std::size_t count, std::size_t parts, std::size_t index, std::size_t grain) noexcept {
    const std::size_t base = count / parts;
    if (parts == 1 || grain < 4 || base < grain) return part_of(count, parts, index);
    const std::size_t whole = base - base % grain, rest = count - parts * whole, quarter = grain / 4;
    const std::size_t longer = (rest + quarter - 1) / quarter;
    if (longer >= parts) return part_of(count, parts, index);
    const std::size_t equal = parts - longer;
    if (index < equal) return {index * whole, whole};
    const part more = part_of(rest, longer, index - equal);
    return {index * whole + more.first, whole + more.count};
}

/// Memory of `count` elements that is cut into `blocks` blocks.
struct layout {
    std::byte* data = nullptr;
    std::size_t count = 0;
    std::size_t element_bytes = 1;
    int blocks = 1;
    const std::size_t* starts = nullptr;  // for blocks of given sizes: where each begins, and where the last ends
    bool equal = false;                   // blocks are equal, because each is a rank's; else near-equal
    std::size_t grain = 0;                // elements; near-equal parts are multiples of it where they can be; 0: no grain
    bool backward = false;                // slices are counted from the end of their block
    const pieces* scattered = nullptr;    // where the elements are, if not one behind the other from `data`

    part block(int index) const noexcept {
        if (starts) return {starts[index], starts[index + 1] - starts[index]};
        return part_of(count, static_cast<std::size_t>(blocks), static_cast<std::size_t>(index), equal ? 0 : grain);
    }
    /// Returns the elements of the longest block.
    std::size_t longest() const noexcept {
        if (!starts && (equal || grain == 0)) return longest_without_grain();
        std::size_t most = 0;
        for (int index = 0; index < blocks; ++index) most = std::max(most, block(index).count);
        return most;
    }
    /// Returns the same without regard to the grain, which makes some blocks a little longer but does not make more slices.
    std::size_t longest_without_grain() const noexcept {
        if (starts) return longest();
        return blocks == 0 ? 0 : part_of(count, static_cast<std::size_t>(blocks), 0).count;
    }
    /// Returns slice `index` of `slices` of block `block_index`, counted from the start of the memory.
    part slice(int block_index, std::size_t slices, std::size_t index) const noexcept {
        const part whole = block(block_index);
        const part inside = part_of(whole.count, slices, backward ? slices - 1 - index : index, grain);
        return {whole.first + inside.first, inside.count};
    }
    /// Returns where an element lies, for memory in one place.
    std::byte* at(std::size_t element) const noexcept { return data + element * element_bytes; }
    /// Returns where an element lies, for memory in several places.
    std::byte* address(std::size_t element) const noexcept { return scattered ? scattered->at(element, element_bytes) : at(element); }
    /// Calls run(data, count) for each place where the elements of `which` lie, in order.
    template <class Run>
    void each_run(part which, Run&& run) const {
        if (scattered) scattered->each_run(which.first, which.count, element_bytes, run);
        else if (which.count > 0) run(at(which.first), which.count);
    }
};

}  // namespace tutti
