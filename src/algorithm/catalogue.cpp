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

// Tests prove `ordered` and `grouped` for all rows, also that neither is missing anywhere. Of two algorithms that cost the same, the chooser takes
// the first. New rows go to the end, because the index is the number on the wire.
constexpr algorithm table[] = {
    {.kind = collective::all_reduce, .name = "ring", .build = ring_all_reduce},
    {.kind = collective::all_reduce,
     .name = "recursive_doubling",
     .build = recursive_doubling_all_reduce,
     .ordered = true,
     .grouped = true},
    {.kind = collective::all_reduce, .name = "halving_doubling", .build = halving_doubling_all_reduce, .ordered = true, .grouped = true},
    {.kind = collective::all_reduce, .name = "tree", .build = tree_all_reduce, .ordered = true, .grouped = true},
    {.kind = collective::all_reduce, .name = "star", .build = star_all_reduce, .ordered = true},
    {.kind = collective::broadcast, .name = "tree", .build = tree_broadcast},
    {.kind = collective::broadcast, .name = "scatter", .build = scatter_broadcast},
    {.kind = collective::reduce, .name = "tree", .build = tree_reduce},
    {.kind = collective::all_gather, .name = "ring", .build = ring_all_gather},
    {.kind = collective::all_gather, .name = "recursive_doubling", .build = recursive_doubling_all_gather, .serves = power_of_two},
    {.kind = collective::all_gather, .name = "bruck", .build = bruck_all_gather},
    {.kind = collective::all_gather, .name = "direct", .build = direct_all_gather},
    {.kind = collective::all_gather, .name = "pairwise", .build = pairwise_all_gather},
    {.kind = collective::reduce_scatter, .name = "ring", .build = ring_reduce_scatter},
    {.kind = collective::reduce_scatter, .name = "direct", .build = direct_reduce_scatter, .ordered = true},
    {.kind = collective::reduce_scatter, .name = "pairwise", .build = pairwise_reduce_scatter},
    {.kind = collective::all_to_all, .name = "pairwise", .build = pairwise_all_to_all},
    {.kind = collective::all_to_all, .name = "direct", .build = direct_all_to_all},
    {.kind = collective::all_to_all, .name = "bruck", .build = bruck_all_to_all},
    {.kind = collective::barrier, .name = "dissemination", .build = dissemination_barrier},
    {.kind = collective::reduce, .name = "ordered_tree", .build = ordered_tree_reduce, .ordered = true, .grouped = true},
    {.kind = collective::gather, .name = "direct", .build = direct_gather},
    {.kind = collective::gather, .name = "tree", .build = tree_gather},
    {.kind = collective::scatter, .name = "direct", .build = direct_scatter},
    {.kind = collective::scatter, .name = "tree", .build = tree_scatter},
    {.kind = collective::scan, .name = "doubling", .build = doubling_scan, .ordered = true, .grouped = true},
    {.kind = collective::scan, .name = "chain", .build = chain_scan, .ordered = true, .hops = others},
    {.kind = collective::exclusive_scan, .name = "doubling", .build = doubling_exclusive_scan, .ordered = true, .grouped = true},
    {.kind = collective::all_gather_v, .name = "ring", .build = ring_all_gather},
    {.kind = collective::all_gather_v, .name = "recursive_doubling", .build = recursive_doubling_all_gather, .serves = power_of_two},
    {.kind = collective::all_gather_v, .name = "bruck", .build = bruck_all_gather},
    {.kind = collective::all_gather_v, .name = "direct", .build = direct_all_gather},
    {.kind = collective::reduce_scatter_v, .name = "direct", .build = direct_reduce_scatter, .ordered = true},
    {.kind = collective::reduce_scatter_v, .name = "pairwise", .build = pairwise_reduce_scatter},
    {.kind = collective::gather_v, .name = "direct", .build = direct_gather},
    {.kind = collective::scatter_v, .name = "direct", .build = direct_scatter},
    {.kind = collective::all_to_all_v, .name = "direct", .build = direct_all_to_all},
    {.kind = collective::reduce_scatter, .name = "halving", .build = halving_reduce_scatter, .ordered = true, .grouped = true},
    {.kind = collective::reduce_scatter_v, .name = "halving", .build = halving_reduce_scatter, .ordered = true, .grouped = true},
    {.kind = collective::all_reduce, .name = "leaders", .build = leaders_all_reduce, .fits = layered},
    {.kind = collective::all_reduce, .name = "leaders_ring", .build = leaders_ring_all_reduce, .fits = layered},
    {.kind = collective::all_reduce, .name = "parts", .build = parts_all_reduce, .fits = even},
    {.kind = collective::broadcast, .name = "leaders", .build = leaders_broadcast, .fits = layered},
    {.kind = collective::broadcast, .name = "leaders_scatter", .build = leaders_scatter_broadcast, .fits = layered},
    {.kind = collective::reduce, .name = "leaders", .build = leaders_reduce, .fits = layered},
    {.kind = collective::barrier, .name = "leaders", .build = leaders_barrier, .fits = layered},
    {.kind = collective::all_gather, .name = "leaders", .build = leaders_all_gather, .fits = layered},
    {.kind = collective::all_gather_v, .name = "leaders", .build = leaders_all_gather, .fits = layered},
    {.kind = collective::all_reduce, .name = "direct", .build = direct_all_reduce, .serves = power_of_two, .ordered = true},
    {.kind = collective::all_reduce,
     .name = "halving_once",
     .build = halving_once_all_reduce,
     .serves = from_four,
     .ordered = true,
     .grouped = true},
    {.kind = collective::all_reduce,
     .name = "halving_twice",
     .build = halving_twice_all_reduce,
     .serves = from_eight,
     .ordered = true,
     .grouped = true},
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
