#include "algorithm/chooser.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t largest_bytes = std::size_t{1} << 40;  // 1 TiB: beyond it only bytes count, so the choice does not change

struct candidate {
    const algorithm* entry;
    estimate takes;
};

// Returns the first of those that cost least. Differences below a billionth are rounding.
const algorithm* cheapest(const std::vector<candidate>& all, std::size_t bytes) {
    const algorithm* best = nullptr;
    double least = 0;
    for (const candidate& one : all) {
        const double takes = one.takes.seconds(static_cast<double>(bytes));
        if (best && takes >= least * (1 - 1e-9)) continue;
        best = one.entry;
        least = takes;
    }
    return best;
}

// Looks for changes of the choice between powers of two, and finds the exact byte by bisection.
std::vector<chooser::range> ranges_of(const std::vector<candidate>& all) {
    std::vector<chooser::range> found;
    if (all.empty()) return found;
    found.push_back({0, cheapest(all, 0)});
    for (std::size_t low = 0, high = 1; high <= largest_bytes; low = high, high *= 2)
        while (cheapest(all, high) != found.back().choice) {
            std::size_t same = low, changed = high;  // a change lies between
            while (changed - same > 1) {
                const std::size_t middle = same + (changed - same) / 2;
                (cheapest(all, middle) == found.back().choice ? same : changed) = middle;
            }
            found.push_back({changed, cheapest(all, changed)});
            low = changed;
        }
    return found;
}

/// Returns the choice of the last range of `kind` that begins at `bytes` or below; null when there is none.
const algorithm* last_from(const std::vector<chooser::range>& all, collective kind, std::size_t bytes) {
    const algorithm* last = nullptr;
    for (const chooser::range& each : all)
        if (each.choice->kind == kind && each.from_bytes <= bytes) last = each.choice;
    return last;
}

/// Returns the ranges of `wanted` where `may_be` allows its choice, and those of `otherwise` elsewhere.
std::vector<chooser::range> preferring(const std::vector<chooser::range>& wanted, const std::vector<chooser::range>& otherwise,
                                       collective kind, auto may_be) {
    std::vector<std::size_t> starts;
    for (const auto* all : {&wanted, &otherwise})
        for (const chooser::range& each : *all)
            if (each.choice->kind == kind) starts.push_back(each.from_bytes);
    std::ranges::sort(starts);
    std::vector<chooser::range> found;
    for (const std::size_t start : starts) {
        const algorithm* choice = last_from(wanted, kind, start);
        if (choice == nullptr || !may_be(*choice)) choice = last_from(otherwise, kind, start);
        if (choice && (found.empty() || found.back().choice != choice)) found.push_back({start, choice});
    }
    return found;
}

}  // namespace

chooser::chooser(int size, const cost_model& model, std::vector<range> wanted, bool deterministic, const host_map& hosts)
    : size_(size),
      model_(model),
      wanted_(std::move(wanted)),
      deterministic_(deterministic),
      hosts_(hosts) {}

bool chooser::usable(const algorithm& entry) const noexcept {
    return entry.build != nullptr && serves(entry, size_, hosts_) && (!deterministic_ || deterministic(entry, size_));
}

chooser::known chooser::work_out(collective kind) const {
    std::vector<candidate> all;
    for (const algorithm& entry : catalogue())
        if (entry.kind == kind && usable(entry)) all.push_back({&entry, estimate(entry, size_, model_, hosts_)});
    known of;
    of.any = preferring(wanted_, ranges_of(all), kind, [this](const algorithm& each) { return usable(each); });
    std::erase_if(all, [](const candidate& each) { return !each.entry->ordered; });
    of.ordered = preferring(wanted_, ranges_of(all), kind, [this](const algorithm& each) { return usable(each) && each.ordered; });
    return of;
}

const std::vector<chooser::range>& chooser::ranges(collective kind, bool ordered) {
    known& of = known_[static_cast<std::size_t>(kind)];
    if (of.any.empty()) of = work_out(kind);
    return ordered ? of.ordered : of.any;
}

const algorithm& chooser::choose(collective kind, std::size_t vector_bytes, bool ordered) {
    const std::vector<range>& all = ranges(kind, ordered);
    TUTTI_CHECK(!all.empty(), "no algorithm to choose from");
    std::size_t index = all.size() - 1;
    while (all[index].from_bytes > vector_bytes) --index;
    return *all[index].choice;
}

}  // namespace tutti
