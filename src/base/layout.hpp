// The elements of a block, and of a slice of a block. Blocks are neighbouring parts, near-equal ones or of sizes that the caller gave; slices
// are near-equal parts of their block.
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

/// Memory of `count` elements that is cut into `blocks` blocks.
struct layout {
    std::byte* data = nullptr;
    std::size_t count = 0;
    std::size_t element_bytes = 1;
    int blocks = 1;
    const std::size_t* starts = nullptr;  // for blocks of given sizes: where each begins, and where the last ends
    const pieces* scattered = nullptr;    // where the elements are, if not one behind the other from `data`

    part block(int index) const noexcept {
        if (starts) return {starts[index], starts[index + 1] - starts[index]};
        return part_of(count, static_cast<std::size_t>(blocks), static_cast<std::size_t>(index));
    }
    /// Returns the elements of the longest block.
    std::size_t longest() const noexcept {
        if (!starts) return blocks == 0 ? 0 : block(0).count;
        std::size_t most = 0;
        for (int index = 0; index < blocks; ++index) most = std::max(most, block(index).count);
        return most;
    }
    /// Returns slice `index` of `slices` of block `block_index`, counted from the start of the memory.
    part slice(int block_index, std::size_t slices, std::size_t index) const noexcept {
        const part whole = block(block_index);
        const part inside = part_of(whole.count, slices, index);
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
