#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace gpu_bench {
namespace {

constexpr double milli = 1e3, micro = 1e6, percent = 100;

json_object json_of(const percentiles& found, double unit) {
    return json_object()
        .put("least", found.least * unit)
        .put("p50", found.p50 * unit)
        .put("p99", found.p99 * unit)
        .put("most", found.most * unit);
}

json_object json_of(const step_figures& found) {
    return json_object()
        .put("exposed_ms", found.exposed * milli)
        .put("efficiency", found.efficiency)
        .put("bound_ms", found.bound * milli)
        .put("of_bound", found.of_bound)
        .put("compute_slowdown", found.slowdown);
}

std::vector<json_object> json_of(const std::vector<interval>& all) {
    std::vector<json_object> made;
    for (const interval& each : all)
        made.push_back(json_object().put("name", each.name).put("began_ms", each.began * milli).put("ended_ms", each.ended * milli));
    return made;
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
    std::string text = fmt::format("{:>14} {:>10} {:>8} {:>12} {:>10} {:>10} {:>10} {:>8} {:>8}\n", "mode", "work_us", "samples",
                                   "unwitnessed", "least_us", "p50_us", "p99_us", "loop_%", "others_%");
    for (const latency_row& row : rows)
        text +=
            fmt::format("{:>14} {:>10.0f} {:>8} {:>12} {:>10.2f} {:>10.2f} {:>10.2f} {:>8.1f} {:>8.1f}\n", name(row.mode),
                        std::chrono::duration<double>(row.length).count() * micro, row.samples, row.unwitnessed, row.seconds.least * micro,
                        row.seconds.p50 * micro, row.seconds.p99 * micro, row.loop_share * percent, row.others_share * percent);
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

std::vector<json_object> json_of(const std::vector<latency_row>& rows) {
    std::vector<json_object> all;
    for (const latency_row& row : rows)
        all.push_back(json_object()
                          .put("mode", name(row.mode))
                          .put("work_us", std::chrono::duration<double>(row.length).count() * micro)
                          .put("samples", row.samples)
                          .put("unwitnessed", row.unwitnessed)
                          .put("latency_us", json_of(row.seconds, micro))
                          .put("loop_share", row.loop_share)
                          .put("others_share", row.others_share));
    return all;
}

std::vector<json_object> json_of(const std::vector<overlap_row>& rows) {
    std::vector<json_object> all;
    for (const overlap_row& row : rows) {
        json_object made;
        made.put("layers", row.training.layers)
            .put("launches", row.launches)
            .put("bucket_bytes", static_cast<double>(row.training.bucket_count * sizeof(float)))
            .put("wrong", static_cast<double>(row.wrong))
            .put("hidden_in_trace", row.hidden);
        for (const variant how : variants) {
            if (row.of(how).most == 0) continue;
            json_object one;
            one.put("step_ms", json_of(row.of(how), milli));
            if (is_whole(how)) one.put("figures", json_of(row.figures[static_cast<std::size_t>(how)]));
            made.put(name(how), one);
        }
        made.put("trace", json_object().put("computing", json_of(row.trace.layers)).put("all_reduce", json_of(row.trace.buckets)));
        all.push_back(made);
    }
    return all;
}

std::vector<json_object> json_of(const std::vector<call_row>& rows) {
    std::vector<json_object> all;
    for (const call_row& row : rows)
        all.push_back(json_object()
                          .put("caller", name(row.who))
                          .put("op", name(row.op))
                          .put("bytes", static_cast<double>(row.bytes))
                          .put("window", row.window)
                          .put("time_us", row.seconds * micro)
                          .put("cpu_us", row.cpu_seconds * micro)
                          .put("ops_per_s", 1 / row.seconds)
                          .put("wrong", static_cast<double>(row.wrong)));
    return all;
}

std::string document(const circumstances& where, const char* part, const std::vector<json_object>& rows) {
    json_object all;
    all.put("part", part).put("device", where.device).put("engine", where.engine).put("ranks", where.ranks);
    all.put("host", where.host).put("cores", where.cores).put("date", where.date).put("rows", rows);
    return all.text() + "\n";
}

}  // namespace gpu_bench
