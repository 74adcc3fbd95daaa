// Which elements a block, and a slice of a block, is. Blocks are near-equal neighbouring parts, the longer ones first, or of sizes that
// the caller gave; slices are always near-equal parts of their block.
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

/// The `index`-th of `parts` parts of `count` elements.
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
    const std::size_t* starts = nullptr;  // of blocks of given sizes: where each begins, and where the last ends. Null: near-equal blocks
    const pieces* scattered = nullptr;    // where the elements are, when they are not behind each other from `data`

    part block(int index) const noexcept {
        if (starts) return {starts[index], starts[index + 1] - starts[index]};
        return part_of(count, static_cast<std::size_t>(blocks), static_cast<std::size_t>(index));
    }
    /// Elements of the longest block.
    std::size_t longest() const noexcept {
        std::size_t most = 0;
        for (int index = 0; index < (starts ? blocks : std::min(blocks, 1)); ++index) most = std::max(most, block(index).count);
        return most;
    }
    /// Slice `index` of `slices` of block `block_index`, from the start of the memory.
    part slice(int block_index, std::size_t slices, std::size_t index) const noexcept {
        const part whole = block(block_index);
        const part inside = part_of(whole.count, slices, index);
        return {whole.first + inside.first, inside.count};
    }
    /// Where an element of memory in one place is.
    std::byte* at(std::size_t element) const noexcept { return data + element * element_bytes; }
    /// Calls run(data, count) for each place where the elements of `which` lie, in order.
    template <class Run>
    void each_run(part which, Run&& run) const {
        if (scattered) scattered->each_run(which.first, which.count, element_bytes, run);
        else if (which.count > 0) run(at(which.first), which.count);
    }
};

}  // namespace tutti
