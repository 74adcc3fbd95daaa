#include "choose.hpp"

#include "algorithm/cost_text.hpp"
#include "algorithm/tuning.hpp"
#include "base/transport_names.hpp"
#include "names.hpp"

#include <fmt/format.h>

#include <vector>

namespace plan {
namespace {

using namespace tutti;

struct candidate {
    const algorithm* entry;
    estimate takes;
};

std::pair<std::size_t, std::size_t> range_in(const std::string& text) {
    const std::size_t dots = text.find("..");
    const std::string first = text.substr(0, dots), last = dots == text.npos ? first : text.substr(dots + 2);
    const std::pair range{static_cast<std::size_t>(bytes_in("--bytes", first)), static_cast<std::size_t>(bytes_in("--bytes", last))};
    if (range.first > range.second) throw bad_input(fmt::format("--bytes {}: the range is empty", text));
    return range;
}

/// Returns the tuning of the transport whose costs are given, that of shared memory by default.
std::vector<chooser::range> tuning_given(const choose_options& given, const host_map& hosts) {
    if (given.tuning.empty()) return {};
    const auto text = tuning_text(given.tuning);
    if (!text) throw bad_input("--tuning " + text.failure().details().cause);
    const bool shared = given.costs.empty() || given.costs.starts_with(name(transport_kind::shm));
    const auto all = tuning_in(*text, shared ? transport_kind::shm : transport_kind::tcp);
    if (!all) throw bad_input(all.failure().details().cause);
    return wanted_in(*all, given.size, hosts);
}

void print_costs(std::size_t bytes, const std::vector<candidate>& all, const algorithm& chosen) {
    fmt::print("{:>15}", size_text(static_cast<double>(bytes)));
    for (const candidate& each : all) {
        const double us = each.takes.seconds(static_cast<double>(bytes)) * 1e6;
        fmt::print(" {:>19}", fmt::format("{:.1f}{}", us, each.entry == &chosen ? "*" : " "));
    }
    fmt::print("\n");
}

}  // namespace

void choose(const choose_options& given) {
    const collective kind = collective_named(given.kind);
    const auto [first, last] = kind == collective::barrier ? std::pair<std::size_t, std::size_t>{} : range_in(given.bytes);
    const cost_model costs = costs_given(given.costs);
    const host_map hosts = hosts_given(given.hosts, given.size);
    chooser choices(given.size, costs, tuning_given(given, hosts), given.deterministic, hosts);
    std::vector<candidate> all;
    for (const algorithm& entry : catalogue())
        if (entry.kind == kind && serves(entry, given.size, hosts) && (!given.deterministic || deterministic(entry, given.size)))
            all.push_back({&entry, estimate(entry, given.size, costs, hosts)});

    fmt::print("{}{}, {}; costs: {}\n", given.deterministic ? "deterministic " : "", given.kind, ranks_text(given.size, hosts),
               to_string(costs));
    std::vector<std::size_t> points{first};
    for (const chooser::range& next : choices.ranges(kind)) {
        if (next.from_bytes > last) break;
        const bool before = next.from_bytes <= first;
        if (before && &choices.choose(kind, first) != next.choice) continue;
        fmt::print("{} from {} bytes\n", next.choice->name, before ? first : next.from_bytes);
        if (before) continue;
        if (points.back() < next.from_bytes - 1) points.push_back(next.from_bytes - 1);
        points.push_back(next.from_bytes);
    }
    if (points.back() < last) points.push_back(last);

    fmt::print("estimated us, at both ends and before and after each change; * is chosen\n{:>15}", "bytes");
    for (const candidate& each : all) fmt::print(" {:>18} ", each.entry->name);
    fmt::print("\n");
    for (const std::size_t bytes : points) print_costs(bytes, all, choices.choose(kind, bytes));
}

}  // namespace plan
