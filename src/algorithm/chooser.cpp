#include "algorithm/chooser.hpp"

#include "base/check.hpp"
#include "schedule/cost.hpp"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t largest_bytes = std::size_t{1} << 40;  // beyond it nothing changes any more
constexpr int counted_ranks = 64;

// In large groups only the first and the last ranks: every special part (root, centre, folded pair) is played there.
std::vector<cost> costs_of(const algorithm& entry, int size) {
    std::vector<cost> all;
    for (rank me = 0; me < size; ++me)
        if (me < counted_ranks / 2 || me >= size - counted_ranks / 2) all.push_back(count(entry.build({me, size, 0})));
    if (entry.hops)
        for (cost& each : all) each.exchanges = std::max(each.exchanges, entry.hops(size));
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

double seconds(const cost& of, double bytes, const cost_model& model) {
    const double cold = std::max(0.0, of.bytes(of.spread, bytes) - model.window_bytes);
    return of.exchanges * model.round + of.messages * model.message + of.bytes(of.serial + of.copied, bytes) * model.sent_byte +
           of.bytes(of.reduced, bytes) * model.reduced_byte + cold * model.cold_byte;
}

double busiest_seconds(const std::vector<cost>& ranks, std::size_t bytes, const cost_model& model) {
    double most = 0;
    for (const cost& one : ranks) most = std::max(most, seconds(one, static_cast<double>(bytes), model));
    return most;
}

struct candidate {
    const algorithm* entry;
    std::vector<cost> ranks;
};

// The first of those that cost least; differences below a billionth are rounding.
const algorithm* cheapest(const std::vector<candidate>& all, std::size_t bytes, const cost_model& model) {
    const algorithm* best = nullptr;
    double least = 0;
    for (const candidate& one : all) {
        const double takes = busiest_seconds(one.ranks, bytes, model);
        if (best && takes >= least * (1 - 1e-9)) continue;
        best = one.entry;
        least = takes;
    }
    return best;
}

std::vector<candidate> candidates(collective kind, int size) {
    std::vector<candidate> all;
    for (const algorithm& entry : catalogue())
        if (entry.kind == kind && serves(entry, size)) all.push_back({&entry, costs_of(entry, size)});
    return all;
}

std::vector<chooser::range> ranges_of(const std::vector<candidate>& all, const cost_model& model) {
    std::vector<chooser::range> found;
    if (all.empty()) return found;
    found.push_back({0, cheapest(all, 0, model)});
    for (std::size_t low = 0, high = 1; high <= largest_bytes; low = high, high *= 2) {
        const algorithm* after = cheapest(all, high, model);
        if (after == found.back().choice) continue;
        std::size_t same = low, changed = high;  // the change lies between
        while (changed - same > 1) {
            const std::size_t middle = same + (changed - same) / 2;
            (cheapest(all, middle, model) == found.back().choice ? same : changed) = middle;
        }
        found.push_back({changed, after});
    }
    return found;
}

}  // namespace

double estimated_seconds(const algorithm& entry, int size, std::size_t vector_bytes, const cost_model& model) {
    return busiest_seconds(costs_of(entry, size), vector_bytes, model);
}

chooser::chooser(int size, const cost_model& model, std::span<const algorithm* const> forced) {
    for (std::size_t kind = 0; kind < table_.size(); ++kind)
        table_[kind] = ranges_of(candidates(static_cast<collective>(kind), size), model);
    for (const algorithm* each : forced)
        if (serves(*each, size)) table_[static_cast<std::size_t>(each->kind)] = {{0, each}};
}

const algorithm& chooser::choose(collective kind, std::size_t vector_bytes) const noexcept {
    const std::vector<range>& all = ranges(kind);
    TUTTI_CHECK(!all.empty(), "no algorithm to choose from");
    std::size_t index = all.size() - 1;
    while (all[index].from_bytes > vector_bytes) --index;
    return *all[index].choice;
}

}  // namespace tutti
