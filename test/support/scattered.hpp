// Elements in buffers of given lengths, each exactly as long as it says, so that sanitizers see a byte too much.
#pragma once

#include "support/oracle.hpp"

#include <numeric>

namespace tutti::test {

class scattered {
public:
    scattered(data_type type, std::span<const std::size_t> counts) {
        for (const std::size_t count : counts) {
            byte_vector& one = memory_.emplace_back(count * size_of(type));
            list_.emplace_back(one.data(), count, type);
        }
    }
    void fill(const byte_vector& all) {
        auto from = all.begin();
        for (byte_vector& each : memory_) {
            const auto end = from + static_cast<std::ptrdiff_t>(each.size());
            std::copy(from, end, each.begin());
            from = end;
        }
    }
    byte_vector joined() const {
        byte_vector all;
        for (const byte_vector& each : memory_) all.insert(all.end(), each.begin(), each.end());
        return all;
    }
    std::span<const buffer> list() const noexcept { return list_; }

private:
    std::vector<byte_vector> memory_;
    std::vector<buffer> list_;
};

inline std::size_t total(std::span<const std::size_t> counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

/// Lists of every awkward kind: none, empty buffers, single elements, buffers within a slice and over many; small ones, which are packed,
/// and large ones, which stay where they are.
inline const std::vector<std::vector<std::size_t>>& awkward_lists() {
    static const std::vector<std::vector<std::size_t>> all = {
        {},
        {0},
        {1},
        {7},
        {0, 0, 0},
        {1, 1},
        {1, 0, 1, 1, 0},
        {0, 17, 0, 1},
        {3, 2, 1},
        {500, 1, 0, 3, 505},
        std::vector<std::size_t>(100, 1),
        {997, 13, 1, 1, 211},
        {5000, 1, 0, 3001, 7},
        {1, 2, 9000, 0, 0, 1},
        {1031, 1499},
    };
    return all;
}

}  // namespace tutti::test
