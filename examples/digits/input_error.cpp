#include "digits/input_error.hpp"

#include <fmt/format.h>

namespace digits {

std::string one_line(std::string_view text) {
    std::string line;
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (code < 0x20 || code == 0x7f) line += fmt::format("\\x{:02x}", code);
        else line += letter;
    }
    return line;
}

}  // namespace digits
