#include "proof/expected.hpp"

#include <algorithm>
#include <bit>

namespace tutti {
namespace {

// In collectives with one vector the plan chooses the number of blocks.
shape spaces_of(collective kind, int size, int parts) {
    using enum collective;
    const bool vector = kind == all_reduce || kind == broadcast || kind == reduce || kind == scan;
    const bool one_block = kind == gather || kind == gather_v;
    return {.input = spreads(kind) ? size : one_block ? 1 : 0, .output = collects(kind) ? size : vector ? parts : 1};
}

// The k-th block of rank `me`: at the start its own contribution, at the end what the collective is for.
void all_reduce(terms& mine, rank me, int k) {
    mine.begins.push_back({output(k), {me, k}});
    mine.ends.push_back({output(k), {every_rank, k}});
}
void broadcast(terms& mine, rank me, rank root, int k) {
    if (me == root) mine.begins.push_back({output(k), {root, k}});
    mine.ends.push_back({output(k), {root, k}});
}
void reduce(terms& mine, rank me, rank root, int k) {
    mine.begins.push_back({output(k), {me, k}});
    if (me == root) mine.ends.push_back({output(k), {every_rank, k}});
}
void all_gather(terms& mine, rank me, int k) {
    if (k == me) mine.begins.push_back({output(k), {me, 0}});
    mine.ends.push_back({output(k), {k, 0}});
}
void reduce_scatter(terms& mine, rank me, int k) {
    mine.begins.push_back({input(k), {me, k}});
    if (k != me) return;
    mine.begins.push_back({output(0), {me, k}});
    mine.ends.push_back({output(0), {every_rank, k}});
}
void all_to_all(terms& mine, rank me, int k) {
    mine.begins.push_back({input(k), {me, k}});
    mine.ends.push_back({output(k), {k, me}});
}

void gather(terms& mine, rank me, rank root, int k) {
    if (k == 0) mine.begins.push_back({input(0), {me, 0}});
    if (me == root) mine.ends.push_back({output(k), {k, 0}});
}
void scatter(terms& mine, rank me, rank root, int k) {
    if (me == root) mine.begins.push_back({input(k), {root, k}});
    if (k == me) mine.ends.push_back({output(0), {root, k}});
}
// Rank `me` ends with the combined contributions of ranks 0 to `count` - 1.
void scan(terms& mine, rank me, int count, int k) {
    mine.begins.push_back({output(k), {me, k}});
    if (count > 0) mine.ends.push_back({output(k), {first_ranks(count), k}});
}

void add_block(terms& mine, collective kind, rank me, rank root, int k) {
    switch (kind) {
        case collective::all_reduce:
        case collective::barrier: return all_reduce(mine, me, k);  // each rank has heard of each rank
        case collective::broadcast: return broadcast(mine, me, root, k);
        case collective::reduce: return reduce(mine, me, root, k);
        case collective::all_gather:
        case collective::all_gather_v: return all_gather(mine, me, k);
        case collective::reduce_scatter:
        case collective::reduce_scatter_v: return reduce_scatter(mine, me, k);
        case collective::all_to_all:
        case collective::all_to_all_v: return all_to_all(mine, me, k);
        case collective::gather:
        case collective::gather_v: return gather(mine, me, root, k);
        case collective::scatter:
        case collective::scatter_v: return scatter(mine, me, root, k);
        case collective::scan: return scan(mine, me, me + 1, k);
        case collective::exclusive_scan: return scan(mine, me, me, k);
    }
}

// Block k is as large as rank k's count. In all_to_all_v each pair of sender and receiver has a size of its own.
std::vector<int> unequal_sizes(collective kind, const shape& spaces, rank me, int size) {
    std::vector<int> sizes;
    const bool pairs = kind == collective::all_to_all_v;
    for (int k = 0; k < spaces.input; ++k) sizes.push_back(pairs ? me * size + k : spaces.input == 1 ? me : k);
    for (int k = 0; k < spaces.output; ++k) sizes.push_back(pairs ? k * size + me : spaces.output == 1 ? me : k);
    return sizes;
}

// Plans of the other collectives are proved for blocks of any sizes.
bool equal_blocks(collective kind) {
    using enum collective;
    return kind == reduce_scatter || kind == all_to_all || kind == gather || kind == scatter || kind == exclusive_scan;
}

}  // namespace

contract expected(collective kind, int size, rank root, int parts) {
    contract promise;
    promise.spaces = spaces_of(kind, size, parts);
    promise.equal_blocks = equal_blocks(kind);
    promise.repeats_allowed = kind == collective::barrier;
    promise.ranks.resize(static_cast<std::size_t>(size));
    for (rank me = 0; me < size && has_counts(kind); ++me)
        promise.ranks[static_cast<std::size_t>(me)].sizes = unequal_sizes(kind, promise.spaces, me, size);
    for (rank me = 0; me < size; ++me)
        for (int k = 0; k < std::max(promise.spaces.input, promise.spaces.output); ++k)
            add_block(promise.ranks[static_cast<std::size_t>(me)], kind, me, root, k);
    return promise;
}

std::vector<rank> roots(collective kind, int size) {
    if (!has_root(kind)) return {0};
    std::vector<rank> some;
    for (rank root = 0; root < size; ++root)
        if (size <= 9 || root == 0 || root == size / 2 || root == size - 1) some.push_back(root);
    return some;
}

std::vector<host_map> host_maps(const algorithm& entry, int size) {
    if (!entry.fits) return serves(entry, size) ? std::vector<host_map>(1) : std::vector<host_map>();
    using numbering = int (*)(rank each, int size);
    constexpr numbering ways[] = {
        [](rank each, int) { return each / 2; },
        [](rank each, int) { return each / 3; },
        [](rank each, int) { return each / 8; },
        [](rank each, int) { return each % 2; },
        [](rank each, int ranks) { return each % std::max(1, ranks / 2); },
        [](rank each, int) { return each == 0 ? 0 : 1; },                                                 // one alone, the first
        [](rank each, int ranks) { return each == ranks - 1 ? 1 : 0; },                                   // or the last
        [](rank each, int ranks) { return each < ranks / 2 ? 0 : each; },                                 // many alone
        [](rank each, int) { return static_cast<int>(std::bit_width(static_cast<unsigned>(each))); },     // 1, 1, 2, 4, ... ranks
        [](rank each, int ranks) { return each * 7 % ranks % 3 + (each * 7 % ranks % 5 == 0 ? 1 : 0); },  // in no order
    };
    std::vector<host_map> maps;
    for (const numbering way : ways) {
        std::vector<int> numbers;
        for (rank each = 0; each < size; ++each) numbers.push_back(way(each, size));
        host_map next(numbers);
        if (serves(entry, size, next) && std::find(maps.begin(), maps.end(), next) == maps.end()) maps.push_back(std::move(next));
    }
    return maps;
}

std::vector<schedule> build_all(const algorithm& entry, int size, rank root, const host_map& hosts) {
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me) plans.push_back(entry.build({me, size, root, &hosts}));
    return plans;
}

verdict verify(const algorithm& entry, int size, rank root, const host_map& hosts) {
    const std::vector<schedule> plans = build_all(entry, size, root, hosts);
    return verify(plans, expected(entry.kind, size, root, plans[0].spaces().output));
}

verdict verify_ordered(const algorithm& entry, int size, rank root, const host_map& hosts) {
    const std::vector<schedule> plans = build_all(entry, size, root, hosts);
    contract promise = expected(entry.kind, size, root, plans[0].spaces().output);
    promise.ordered = true;
    return verify(plans, promise);
}

verdict verify_grouped(const algorithm& entry, int size, rank root, const host_map& hosts) {
    const std::vector<schedule> plans = build_all(entry, size, root, hosts);
    contract promise = expected(entry.kind, size, root, plans[0].spaces().output);
    promise.ordered = promise.grouped = true;
    return verify(plans, promise);
}

verdict verify_sliced(const algorithm& entry, int size, rank root, const host_map& hosts, const slicing& cut, std::uint32_t seed) {
    const std::vector<schedule> plans = build_all(entry, size, root, hosts);
    return verify_sliced(plans, expected(entry.kind, size, root, plans[0].spaces().output), cut, seed);
}

}  // namespace tutti
