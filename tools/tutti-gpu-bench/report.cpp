#include "report.hpp"

#include "json.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace gpu_bench {
namespace {

constexpr double milli = 1e3, micro = 1e6, percent = 100;

using perf::json, perf::rounded;

json json_of(const percentiles& found, double unit) {
    return {{"least", rounded(found.least * unit)},
            {"p50", rounded(found.p50 * unit)},
            {"p99", rounded(found.p99 * unit)},
            {"most", rounded(found.most * unit)}};
}

json json_of(const step_figures& found) {
    return {{"exposed_ms", rounded(found.exposed * milli)},
            {"efficiency", rounded(found.efficiency)},
            {"bound_ms", rounded(found.bound * milli)},
            {"of_bound", rounded(found.of_bound)},
            {"compute_slowdown", rounded(found.slowdown)}};
}

json json_of(const std::vector<interval>& all) {
    json made = json::array();
    for (const interval& each : all)
        made.push_back({{"name", each.name}, {"began_ms", rounded(each.began * milli)}, {"ended_ms", rounded(each.ended * milli)}});
    return made;
}

json json_of(const latency_row& row) {
    if (!row.why_not.empty()) return {{"mode", name(row.how)}, {"why_not", row.why_not}};
    return {{"mode", name(row.how)},
            {"work_us", rounded(std::chrono::duration<double>(row.length).count() * micro)},
            {"samples", row.samples},
            {"unwitnessed", row.unwitnessed},
            {"latency_us", json_of(row.seconds, micro)},
            {"loop_share", rounded(row.loop_share)},
            {"others_share", rounded(row.others_share)},
            {"launches_per_s", rounded(row.launches.per_second())},
            {"launches_per_s_alone", rounded(row.launches_alone.per_second())}};
}

json json_of(const overlap_row& row) {
    json made{{"layers", row.training.layers},
              {"launches", row.launches},
              {"bucket_bytes", row.training.bucket_count * sizeof(float)},
              {"wrong", row.wrong},
              {"hidden_in_trace", rounded(row.hidden)}};
    for (const variant how : variants) {
        if (row.of(how).most == 0) continue;
        json& one = made[name(how)];
        one["step_ms"] = json_of(row.of(how), milli);
        if (is_whole(how)) one["figures"] = json_of(row.figures[static_cast<std::size_t>(how)]);
    }
    made["trace"] = {{"computing", json_of(row.trace.layers)}, {"all_reduce", json_of(row.trace.buckets)}};
    return made;
}

json json_of(const call_row& row) {
    return {{"caller", name(row.who)},
            {"op", name(row.op)},
            {"bytes", row.bytes},
            {"window", row.window},
            {"time_us", rounded(row.seconds * micro)},
            {"cpu_us", rounded(row.cpu_seconds * micro)},
            {"ops_per_s", rounded(1 / row.seconds)},
            {"wrong", row.wrong}};
}

template <class Row>
std::string document(const circumstances& where, const char* part, const std::vector<Row>& rows) {
    json all{{"part", part},       {"device", where.device}, {"engine", where.engine}, {"ranks", where.ranks},
             {"host", where.host}, {"cores", where.cores},   {"date", where.date}};
    json& made = all["rows"] = json::array();
    for (const Row& row : rows) made.push_back(json_of(row));
    return perf::text_of(all);
}

}  // namespace

circumstances circumstances_of(const tutti::gpu::device* card, std::string engine, int ranks) {
    char host[256] = "unknown", date[32];
    ::gethostname(host, sizeof host - 1);
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    return {card ? card->name() : "none", std::move(engine), host, date, ranks, static_cast<int>(std::thread::hardware_concurrency())};
}

std::string line_of(const circumstances& where) {
    return fmt::format("# {}{}{}, {} ranks; host {}, {} cores, {}\n", where.device, where.engine.empty() ? "" : ", ", where.engine,
                       where.ranks, where.host, where.cores, where.date);
}

std::string table_of(const std::vector<latency_row>& rows) {
    std::string text =
        fmt::format("{:>14} {:>10} {:>8} {:>12} {:>10} {:>10} {:>10} {:>8} {:>8} {:>11} {:>11}\n", "mode", "work_us", "samples",
                    "unwitnessed", "least_us", "p50_us", "p99_us", "loop_%", "others_%", "launches/s", "of_alone_%");
    for (const latency_row& row : rows) {
        if (!row.why_not.empty()) {
            text += fmt::format("{:>14} not measured: {}\n", name(row.how), row.why_not);
            continue;
        }
        text += fmt::format("{:>14} {:>10.0f} {:>8} {:>12} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.1f} {:>8.1f} {:>11.0f} {:>11.1f}\n",
                            name(row.how), std::chrono::duration<double>(row.length).count() * micro, row.samples, row.unwitnessed,
                            row.seconds.least * micro, row.seconds.p50 * micro, row.seconds.p99 * micro, row.loop_share * percent,
                            row.others_share * percent, row.launches.per_second(),
                            row.launches.per_second() / row.launches_alone.per_second() * percent);
    }
    return text;
}

std::string table_of(const std::vector<overlap_row>& rows) {
    std::string text;
    for (const overlap_row& row : rows) {
        text += fmt::format(
            "{} layers of {} multiplications, buckets of {} bytes; {:.0f}% of the traced communication behind computing, wrong: {}\n",
            row.training.layers, row.launches, row.training.bucket_count * sizeof(float), row.hidden * percent, row.wrong);
        text += fmt::format("{:>14} {:>10} {:>10} {:>11} {:>11} {:>9} {:>9}\n", "", "step_ms", "p99_ms", "exposed_ms", "efficiency",
                            "of_bound", "slowdown");
        for (const variant how : variants) {
            const percentiles& times = row.of(how);
            if (times.most == 0) continue;  // not measured
            text += fmt::format("{:>14} {:>10.3f} {:>10.3f}", name(how), times.p50 * milli, times.p99 * milli);
            const step_figures& found = row.figures[static_cast<std::size_t>(how)];
            if (is_whole(how))
                text += fmt::format(" {:>11.3f} {:>11.3f} {:>9.3f}", found.exposed * milli, found.efficiency, found.of_bound);
            if (found.slowdown > 0) text += fmt::format(" {:>9.3f}", found.slowdown);
            text += "\n";
        }
    }
    return text;
}

std::string table_of(const std::vector<call_row>& rows) {
    std::string text = fmt::format("{:>14} {:>11} {:>10} {:>7} {:>10} {:>10} {:>10} {:>6}\n", "caller", "op", "bytes", "window", "time_us",
                                   "cpu_us", "ops/s", "wrong");
    for (const call_row& row : rows)
        text += fmt::format("{:>14} {:>11} {:>10} {:>7} {:>10.2f} {:>10.2f} {:>10.0f} {:>6}\n", name(row.who), name(row.op), row.bytes,
                            row.window, row.seconds * micro, row.cpu_seconds * micro, 1 / row.seconds, row.wrong);
    return text;
}

std::string document(const circumstances& where, const std::vector<latency_row>& rows) { return document(where, "latency", rows); }
std::string document(const circumstances& where, const std::vector<overlap_row>& rows) { return document(where, "overlap", rows); }
std::string document(const circumstances& where, const std::vector<call_row>& rows) { return document(where, "nccl", rows); }

}  // namespace gpu_bench
