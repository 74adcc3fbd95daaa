// For options whose value is a number within limits.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

namespace tutti {

/// A check beside CLI::Range, which takes it, as it is neither below nor above anything.
inline std::string refuse_nan(const std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is not a number" : "";
}

}  // namespace tutti
