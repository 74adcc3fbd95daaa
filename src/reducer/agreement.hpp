// Finds whether all ranks hold the same list of lines, and if not, which line differs first and how it reads on two ranks.
#pragma once

#include <tutti/communicator.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

/// Owns the lines of one rank and the numbers that the comparison reduces. A reducer makes it; each rank makes the same calls in the same
/// order.
class agreement {
public:
    agreement(communicator& over, std::vector<std::string> lines);
    agreement(const agreement&) = delete;
    agreement& operator=(const agreement&) = delete;

    /// Compares the digests of the whole lists by one small all-reduce.
    future<> compare();
    /// After compare(): returns whether the lists are equal; the same answer on all ranks.
    bool reached() const noexcept { return words_[0] == ~words_[1] && words_[2] == ~words_[3]; }
    /// After a comparison that found a difference, called by all ranks: returns one sentence about the first difference, the same on all
    /// ranks.
    task<std::string> difference();

private:
    static constexpr std::size_t text_bytes = 248;  // of a line, with its length; more is cut off
    static constexpr std::size_t entry_bytes = 8 + text_bytes;

    std::uint64_t digest(std::size_t line) const noexcept;
    std::string text(std::size_t line) const;

    communicator& over_;
    std::vector<std::string> lines_;
    // Number of lines and digest of all, each with its complement: their maxima over the ranks are complements when all are equal.
    std::array<std::uint64_t, 4> words_{};
};

}  // namespace tutti
