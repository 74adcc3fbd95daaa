#include "json.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace perf {

double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

std::string text_of(const json& all) { return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace perf
