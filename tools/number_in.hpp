// For options whose value is a number within limits.
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <string>

namespace tutti {

/// CLI::Range, but for NaN, which that takes, as it is neither below nor above anything.
inline CLI::Validator number_in(double least, double most) {
    const CLI::Range range(least, most);
    const auto check = [range](std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is not a number" : range(text);
    };
    return {check, range.get_description()};
}

}  // namespace tutti
