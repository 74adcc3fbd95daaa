// Draws a run: the training loss over the epochs, and below it the share of communication hidden with the test accuracy.
#pragma once

#include "digits/report.hpp"

namespace digits {

/// A complete SVG document.
std::string to_svg(const run_report& what);

}  // namespace digits
