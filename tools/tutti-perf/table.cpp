#include "table.hpp"

#include <fmt/format.h>

namespace perf {
namespace {

constexpr double micro = 1e6, giga = 1e9;
constexpr auto columns = "{:>12} {:>12} {:>5} {:>10} {:>19} {:>11} {:>11} {:>11} {:>8} {:>8} {:>9} {:>6}\n";

std::string wrong_text(std::int64_t wrong) { return wrong < 0 ? "-" : fmt::format("{}", wrong); }

}  // namespace

double row::algorithm_bandwidth() const noexcept { return static_cast<double>(bytes) / times.median / giga; }
double row::bus_bandwidth() const noexcept { return algorithm_bandwidth() * bus_factor; }
double row::cpu_seconds_per_gigabyte() const noexcept { return bytes == 0 ? 0 : times.cpu / static_cast<double>(bytes) * giga; }

std::string heading() {
    const auto names =
        fmt::format(columns, "bytes", "count", "type", "op", "algorithm", "time_us", "min_us", "p99_us", "algbw", "busbw", "cpu", "wrong");
    return names + fmt::format(columns, "", "elements", "", "", "", "median", "", "single op", "GB/s", "GB/s", "s/GB/rank", "");
}

std::string to_line(const row& one) {
    return fmt::format(columns, one.bytes, one.count, one.type, one.reduce_op, one.algorithm,
                       fmt::format("{:.2f}", one.times.median * micro), fmt::format("{:.2f}", one.times.least * micro),
                       fmt::format("{:.2f}", one.times.p99 * micro), fmt::format("{:.3f}", one.algorithm_bandwidth()),
                       fmt::format("{:.3f}", one.bus_bandwidth()), fmt::format("{:.4g}", one.cpu_seconds_per_gigabyte()),
                       wrong_text(one.wrong));
}

/// Every text in a row is a plain word, so nothing needs escaping.
std::string to_json(const std::vector<row>& all) {
    std::string text = "[";
    for (const row& one : all) {
        if (text.size() > 1) text += ",";
        text += fmt::format(R"(
  {{"op": "{}", "bytes": {}, "count": {}, "type": "{}", "reduce_op": "{}", "ranks": {}, "transport": "{}", "algorithm": "{}",
   "time_us_min": {:.3f}, "time_us_median": {:.3f}, "time_us_p99": {:.3f}, "algbw_GBps": {:.6f}, "busbw_GBps": {:.6f},
   "cpu_s_per_GB": {:.6f}, "wrong": {}}})",
                            one.op, one.bytes, one.count, one.type, one.reduce_op, one.ranks, one.transport, one.algorithm,
                            one.times.least * micro, one.times.median * micro, one.times.p99 * micro, one.algorithm_bandwidth(),
                            one.bus_bandwidth(), one.cpu_seconds_per_gigabyte(), one.wrong < 0 ? "null" : wrong_text(one.wrong));
    }
    return text + "\n]\n";
}

}  // namespace perf
