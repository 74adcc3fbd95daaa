#include "algorithm/catalogue.hpp"

#include "algorithm/builders.hpp"

#include <bit>

namespace tutti {
namespace {

bool power_of_two(int size) { return std::has_single_bit(static_cast<unsigned>(size)); }
bool from_four(int size) { return size >= 4; }
bool from_eight(int size) { return size >= 8; }
int others(int size) { return size - 1; }
bool layered(const host_map& hosts) { return hosts.layered(); }
bool even(const host_map& hosts) { return hosts.even(); }

// The columns, as `algorithm` in catalogue.hpp explains them: kind, name, build, serves, ordered, hops, grouped, fits. Tests prove `ordered` and
// `grouped` for all rows, also that neither is missing anywhere. Of two algorithms that cost the same, the chooser takes the first. New rows go to
// the end, because the index is the number on the wire.
constexpr algorithm table[] = {
    {collective::all_reduce, "ring", ring_all_reduce, nullptr},
    {collective::all_reduce, "recursive_doubling", recursive_doubling_all_reduce, nullptr, true, nullptr, true},
    {collective::all_reduce, "halving_doubling", halving_doubling_all_reduce, nullptr, true, nullptr, true},
    {collective::all_reduce, "tree", tree_all_reduce, nullptr, true, nullptr, true},
    {collective::all_reduce, "star", star_all_reduce, nullptr, true},
    {collective::broadcast, "tree", tree_broadcast, nullptr},
    {collective::broadcast, "scatter", scatter_broadcast, nullptr},
    {collective::reduce, "tree", tree_reduce, nullptr},
    {collective::all_gather, "ring", ring_all_gather, nullptr},
    {collective::all_gather, "recursive_doubling", recursive_doubling_all_gather, power_of_two},
    {collective::all_gather, "bruck", bruck_all_gather, nullptr},
    {collective::all_gather, "direct", direct_all_gather, nullptr},
    {collective::all_gather, "pairwise", pairwise_all_gather, nullptr},
    {collective::reduce_scatter, "ring", ring_reduce_scatter, nullptr},
    {collective::reduce_scatter, "direct", direct_reduce_scatter, nullptr, true},
    {collective::reduce_scatter, "pairwise", pairwise_reduce_scatter, nullptr},
    {collective::all_to_all, "pairwise", pairwise_all_to_all, nullptr},
    {collective::all_to_all, "direct", direct_all_to_all, nullptr},
    {collective::all_to_all, "bruck", bruck_all_to_all, nullptr},
    {collective::barrier, "dissemination", dissemination_barrier, nullptr},
    {collective::reduce, "ordered_tree", ordered_tree_reduce, nullptr, true, nullptr, true},
    {collective::gather, "direct", direct_gather, nullptr},
    {collective::gather, "tree", tree_gather, nullptr},
    {collective::scatter, "direct", direct_scatter, nullptr},
    {collective::scatter, "tree", tree_scatter, nullptr},
    {collective::scan, "doubling", doubling_scan, nullptr, true, nullptr, true},
    {collective::scan, "chain", chain_scan, nullptr, true, others},
    {collective::exclusive_scan, "doubling", doubling_exclusive_scan, nullptr, true, nullptr, true},
    {collective::all_gather_v, "ring", ring_all_gather, nullptr},
    {collective::all_gather_v, "recursive_doubling", recursive_doubling_all_gather, power_of_two},
    {collective::all_gather_v, "bruck", bruck_all_gather, nullptr},
    {collective::all_gather_v, "direct", direct_all_gather, nullptr},
    {collective::reduce_scatter_v, "direct", direct_reduce_scatter, nullptr, true},
    {collective::reduce_scatter_v, "pairwise", pairwise_reduce_scatter, nullptr},
    {collective::gather_v, "direct", direct_gather, nullptr},
    {collective::scatter_v, "direct", direct_scatter, nullptr},
    {collective::all_to_all_v, "direct", direct_all_to_all, nullptr},
    {collective::reduce_scatter, "halving", halving_reduce_scatter, nullptr, true, nullptr, true},
    {collective::reduce_scatter_v, "halving", halving_reduce_scatter, nullptr, true, nullptr, true},
    {collective::all_reduce, "leaders", leaders_all_reduce, nullptr, false, nullptr, false, layered},
    {collective::all_reduce, "leaders_ring", leaders_ring_all_reduce, nullptr, false, nullptr, false, layered},
    {collective::all_reduce, "parts", parts_all_reduce, nullptr, false, nullptr, false, even},
    {collective::broadcast, "leaders", leaders_broadcast, nullptr, false, nullptr, false, layered},
    {collective::broadcast, "leaders_scatter", leaders_scatter_broadcast, nullptr, false, nullptr, false, layered},
    {collective::reduce, "leaders", leaders_reduce, nullptr, false, nullptr, false, layered},
    {collective::barrier, "leaders", leaders_barrier, nullptr, false, nullptr, false, layered},
    {collective::all_gather, "leaders", leaders_all_gather, nullptr, false, nullptr, false, layered},
    {collective::all_gather_v, "leaders", leaders_all_gather, nullptr, false, nullptr, false, layered},
    {collective::all_reduce, "direct", direct_all_reduce, power_of_two, true},
    {collective::all_reduce, "halving_once", halving_once_all_reduce, from_four, true, nullptr, true},
    {collective::all_reduce, "halving_twice", halving_twice_all_reduce, from_eight, true, nullptr, true},
};

}  // namespace

std::span<const algorithm> catalogue() noexcept { return table; }

const algorithm* find(collective kind, std::string_view name) noexcept {
    for (const algorithm& entry : table)
        if (entry.kind == kind && entry.name == name) return &entry;
    return nullptr;
}

int number(const algorithm& entry) noexcept { return static_cast<int>(&entry - table); }

}  // namespace tutti
