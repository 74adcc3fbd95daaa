#include "engine/label.hpp"

#include "base/bytes.hpp"

#include <algorithm>

namespace tutti {

std::uint32_t digest_of_label(const char* label) noexcept {
    if (!label || *label == '\0') return 0;
    const std::uint64_t digest = digest_of(std::string_view(label));
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((digest ^ digest >> 24 ^ digest >> 48) & 0xff'ffff));
}

void label_text::set(std::string_view label) noexcept {
    length_ = static_cast<std::uint8_t>(std::min(label.size(), longest));
    std::transform(label.begin(), label.begin() + length_, text_.begin(),
                   [](char each) { return static_cast<unsigned char>(each) < ' ' || each == '\x7f' ? '?' : each; });
}

}  // namespace tutti
