#include "algorithm/expected.hpp"

#include <algorithm>

namespace tutti {
namespace {

shape spaces_of(collective kind, int size, int parts) {
    switch (kind) {
        case collective::all_reduce:
        case collective::broadcast:
        case collective::reduce: return {.output = parts};
        case collective::all_gather: return {.output = size};
        case collective::reduce_scatter: return {.input = size, .output = 1};
        case collective::all_to_all: return {.input = size, .output = size};
        default: return {.output = 1};
    }
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
    if (k == me) mine.ends.push_back({output(0), {every_rank, k}});
}
void all_to_all(terms& mine, rank me, int k) {
    mine.begins.push_back({input(k), {me, k}});
    mine.ends.push_back({output(k), {k, me}});
}

void add_block(terms& mine, collective kind, rank me, rank root, int k) {
    switch (kind) {
        case collective::all_reduce:
        case collective::barrier: return all_reduce(mine, me, k);  // everybody has heard of everybody
        case collective::broadcast: return broadcast(mine, me, root, k);
        case collective::reduce: return reduce(mine, me, root, k);
        case collective::all_gather: return all_gather(mine, me, k);
        case collective::reduce_scatter: return reduce_scatter(mine, me, k);
        case collective::all_to_all: return all_to_all(mine, me, k);
        default: return;
    }
}

}  // namespace

contract expected(collective kind, int size, rank root, int parts) {
    contract promise;
    promise.spaces = spaces_of(kind, size, parts);
    promise.equal_blocks = kind == collective::reduce_scatter || kind == collective::all_to_all;
    promise.repeats_allowed = kind == collective::barrier;
    promise.ranks.resize(static_cast<std::size_t>(size));
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

std::vector<schedule> build_all(const algorithm& entry, int size, rank root) {
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me) plans.push_back(entry.build({me, size, root}));
    return plans;
}

verdict verify(const algorithm& entry, int size, rank root) {
    const std::vector<schedule> plans = build_all(entry, size, root);
    return verify(plans, expected(entry.kind, size, root, plans[0].spaces().output));
}

verdict verify_ordered(const algorithm& entry, int size, rank root) {
    const std::vector<schedule> plans = build_all(entry, size, root);
    contract promise = expected(entry.kind, size, root, plans[0].spaces().output);
    promise.ordered = true;
    return verify(plans, promise);
}

verdict verify_sliced(const algorithm& entry, int size, rank root, int slices, std::uint32_t seed, int window) {
    const std::vector<schedule> plans = build_all(entry, size, root);
    return verify_sliced(plans, expected(entry.kind, size, root, plans[0].spaces().output), slices, seed, window);
}

}  // namespace tutti
