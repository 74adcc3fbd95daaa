// Which elements a block, and a slice of a block, is. Everything is cut into near-equal neighbouring parts, the longer ones first.
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
    const std::size_t base = count / parts, longer = count % parts;
    return {index * base + std::min(index, longer), base + (index < longer ? 1 : 0)};
}

/// Memory of `count` elements that is cut into `blocks` blocks.
struct layout {
    std::byte* data = nullptr;
    std::size_t count = 0;
    std::size_t element_bytes = 1;
    int blocks = 1;
    const pieces* scattered = nullptr;  // where the elements are, when they are not behind each other from `data`

    part block(int index) const noexcept { return part_of(count, static_cast<std::size_t>(blocks), static_cast<std::size_t>(index)); }
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
