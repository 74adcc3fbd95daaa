// Whether all ranks hold the same list of lines, and, where they do not, which line differs first and what it says here and there.
#pragma once

#include <tutti/communicator.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

class agreement {
public:
    agreement(communicator& over, std::vector<std::string> lines);
    agreement(const agreement&) = delete;
    agreement& operator=(const agreement&) = delete;

    /// Compares the lists as wholes: one small all-reduce.
    future<> compare();
    /// When `compare` has ended: the same answer on all ranks.
    bool reached() const noexcept { return words_[0] == ~words_[1] && words_[2] == ~words_[3]; }
    /// When it was not reached, and called by all ranks: one sentence, the same on all of them.
    task<std::string> difference();

private:
    static constexpr std::size_t text_bytes = 248;  // of a line; more is cut off
    static constexpr std::size_t entry_bytes = 8 + text_bytes;

    std::uint64_t digest(std::size_t line) const noexcept;
    std::string text(std::size_t line) const;

    communicator& over_;
    std::vector<std::string> lines_;
    // Number of lines and digest of all, each with its complement: their maxima over the ranks are complements when all are equal.
    std::array<std::uint64_t, 4> words_{};
};

}  // namespace tutti
