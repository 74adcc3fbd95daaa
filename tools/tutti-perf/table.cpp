#include "table.hpp"

#include "json.hpp"

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

std::string to_json(const std::vector<row>& all) {
    json made = json::array();
    for (const row& one : all)
        made.push_back({{"op", one.op},
                        {"bytes", one.bytes},
                        {"count", one.count},
                        {"type", one.type},
                        {"reduce_op", one.reduce_op},
                        {"ranks", one.ranks},
                        {"transport", one.transport},
                        {"algorithm", one.algorithm},
                        {"time_us_min", rounded(one.times.least * micro)},
                        {"time_us_median", rounded(one.times.median * micro)},
                        {"time_us_p99", rounded(one.times.p99 * micro)},
                        {"algbw_GBps", rounded(one.algorithm_bandwidth())},
                        {"busbw_GBps", rounded(one.bus_bandwidth())},
                        {"cpu_s_per_GB", rounded(one.cpu_seconds_per_gigabyte())},
                        {"wrong", one.wrong < 0 ? json() : json(one.wrong)}});
    return text_of(made);
}

}  // namespace perf
