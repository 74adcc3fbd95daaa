// The places of elements that are numbered through but lie in several pieces of memory. A `layout` says which blocks and slices they form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti {

class pieces {
public:
    void clear() noexcept { all_.clear(); }
    /// Appends a piece. A neighbour in memory is joined to the last piece.
    void add(std::byte* data, std::size_t count, std::size_t element_bytes) {
        if (count == 0) return;
        const std::size_t first = end();
        if (!all_.empty() && all_.back().data + all_.back().count * element_bytes == data) all_.back().count += count;
        else all_.push_back({data, first, count});
    }
    std::size_t size() const noexcept { return all_.size(); }

    /// Returns where an element lies, or null.
    std::byte* at(std::size_t element, std::size_t element_bytes) const {
        std::byte* found = nullptr;
        if (element < end()) each_run(element, 1, element_bytes, [&](std::byte* data, std::size_t) { found = data; });
        return found;
    }

    /// Calls run(data, count) for each place where `count` elements from `first` lie, in order. All of them are there.
    template <class Run>
    void each_run(std::size_t first, std::size_t count, std::size_t element_bytes, Run&& run) const {
        auto at =
            std::upper_bound(all_.begin(), all_.end(), first, [](std::size_t element, const piece& one) { return element < one.first; });
        if (count > 0) --at;
        for (; count > 0; ++at) {
            const std::size_t skipped = first - at->first, here = std::min(count, at->count - skipped);
            run(at->data + skipped * element_bytes, here);
            first += here;
            count -= here;
        }
    }

private:
    struct piece {
        std::byte* data;
        std::size_t first;  // element, of all
        std::size_t count;
    };

    std::size_t end() const noexcept { return all_.empty() ? 0 : all_.back().first + all_.back().count; }

    std::vector<piece> all_;
};

}  // namespace tutti
