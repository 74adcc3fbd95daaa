#include "base/core_set.hpp"

#include <charconv>

namespace tutti {

core_set core_set::of_this_thread() noexcept {
    core_set found;
    if (::sched_getaffinity(0, sizeof found.cores_, &found.cores_) != 0) return {};
    return found;
}

core_set core_set::in(std::string_view text) noexcept {
    core_set found;
    if (text.size() > CPU_SETSIZE / 4) return {};
    for (int digit = 0; digit < static_cast<int>(text.size()); ++digit) {
        const char* const at = text.data() + digit;
        unsigned bits = 0;
        if (std::from_chars(at, at + 1, bits, 16).ec != std::errc{}) return {};
        for (int bit = 0; bit < 4; ++bit)
            if ((bits >> bit & 1) != 0) found.add(4 * digit + bit);
    }
    return found;
}

std::string core_set::to_string() const {
    std::string text;
    for (int left = count(), core = 0; left > 0; ++core) {
        if (core % 4 == 0) text += '0';
        if (!CPU_ISSET(core, &cores_)) continue;
        --left;
        auto& digit = text.back();
        const int bits = (digit <= '9' ? digit - '0' : digit - 'a' + 10) | 1 << core % 4;
        digit = "0123456789abcdef"[bits];
    }
    return text.empty() ? "0" : text;
}

int core_set::at(int index) const noexcept {
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &cores_) && index-- == 0) return core;
    return -1;
}

}  // namespace tutti
