// Plans as text, one line per step: "round 3: send to 1 output[4..6)".
#pragma once

#include "schedule/schedule.hpp"

#include <string>

namespace tutti {

std::string_view name(space where) noexcept;
/// "output[4]" or "output[4..6)".
std::string to_string(const blocks& which);
/// "send to 1 output[4]", "recv from 1 output[4]", "recv_reduce from 1 output[4]", "copy input[0] to output[4]".
std::string to_string(const step& line);
/// A line per step, each with its end of line. Rounds count from 0.
std::string to_string(const schedule& plan);

}  // namespace tutti
