// The caller's label of a call: the digest by which ranks compare it, and its first characters, kept longer than the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tutti {

/// Returns 24 bits that tell labels apart; 0 for none and for an empty one.
std::uint32_t digest_of_label(const char* label) noexcept;

/// Holds a label's first characters. Control characters, which could break a line, become '?'.
class label_text {
public:
    static constexpr std::size_t longest = 63;  // with the length 64 bytes

    void set(std::string_view label) noexcept;
    std::string_view view() const noexcept { return {text_.data(), length_}; }

private:
    std::array<char, longest> text_;
    std::uint8_t length_ = 0;
};

}  // namespace tutti
