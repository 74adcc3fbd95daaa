// The parts that the tools' JSON has in common.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace perf {

/// Members stay in the order in which they are put there.
using json = nlohmann::ordered_json;

/// To as many digits as a measurement has.
double rounded(double value);

/// On lines for people; null for what is no finite number, and U+FFFD for bytes that are no UTF-8.
std::string text_of(const json& all);

}  // namespace perf
