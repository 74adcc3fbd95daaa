// The table of all algorithms, the collectives that they serve, and the meaning of the blocks in their plans.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <string_view>

namespace tutti {

// The numbers travel in frames, so a new collective goes to the end.
enum class collective : std::uint8_t {
    all_reduce,
    broadcast,
    reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    barrier,
    gather,
    scatter,
    scan,
    exclusive_scan,
    all_gather_v,  // from here on each rank has a count of its own
    reduce_scatter_v,
    gather_v,
    scatter_v,
    all_to_all_v,
};
inline constexpr int collective_count = 16;
constexpr std::string_view name(collective kind) noexcept {
    constexpr std::string_view names[collective_count] = {
        "all_reduce", "broadcast", "reduce",         "all_gather",   "reduce_scatter",   "all_to_all", "barrier",   "gather",
        "scatter",    "scan",      "exclusive_scan", "all_gather_v", "reduce_scatter_v", "gather_v",   "scatter_v", "all_to_all_v"};
    return names[static_cast<int>(kind)];
}
constexpr bool has_root(collective kind) noexcept {
    using enum collective;
    return kind == broadcast || kind == reduce || kind == gather || kind == scatter || kind == gather_v || kind == scatter_v;
}
constexpr bool reduces(collective kind) noexcept {
    using enum collective;
    return kind == all_reduce || kind == reduce || kind == reduce_scatter || kind == scan || kind == exclusive_scan ||
           kind == reduce_scatter_v;
}
/// Returns whether each rank has a count of its own.
constexpr bool has_counts(collective kind) noexcept { return kind >= collective::all_gather_v && kind <= collective::all_to_all_v; }
/// Returns whether the input has a block for each rank.
constexpr bool spreads(collective kind) noexcept {
    using enum collective;
    return kind == reduce_scatter || kind == all_to_all || kind == scatter || kind == reduce_scatter_v || kind == all_to_all_v ||
           kind == scatter_v;
}
/// Returns whether the output has a block from each rank.
constexpr bool collects(collective kind) noexcept {
    using enum collective;
    return kind == all_gather || kind == all_to_all || kind == gather || kind == all_gather_v || kind == all_to_all_v || kind == gather_v;
}

// How each collective uses the spaces of a plan. S is the whole vector. "Start" is what the engine puts into the blocks, "end" what the plan
// promises. A plan never writes to `input`, because that is the user's memory and may be read-only.
//
//   all_reduce      no input. output: S in N near-equal blocks; the algorithm chooses N. Start: this rank's contribution (the engine puts it
//                   there if the call is not in place). End: the result, with the same bits on all ranks.
//   broadcast       no input. output: S in N near-equal blocks. Start: the data, at the root. End: the data, on all ranks.
//   reduce          no input. output: S in N near-equal blocks. Start: the contribution. End: the result at the root; on other ranks anything,
//                   so the engine gives these a copy to work on.
//   all_gather      no input. output: `size` blocks. Start: block `me` only. End: block r is the contribution of rank r.
//   reduce_scatter  input: `size` equal blocks, the contribution. output: one block. Start: block `me` of the contribution. End: block `me` of
//                   the result.
//   all_to_all      input: `size` equal blocks, block p for rank p. output: `size` equal blocks. End: block p is from rank p.
//   gather          input: one block. output: `size` blocks, at the root only. End: block r is the contribution of rank r.
//   scatter         input: `size` equal blocks, at the root only. output: one block. End: block `me` of the root's input.
//   scan            no input. output: S in N near-equal blocks. Start: the contribution. End: the contributions of ranks 0 to me, combined.
//   exclusive_scan  no input. output: one block. Start: the contribution. End: the contributions of ranks 0 to me - 1, combined. At rank 0
//                   anything: plans do not know the operator's identity, so the engine puts it there.
//   ..._v           likewise with blocks of unequal sizes. Block k of `size` belongs to rank k; a single block is as large as block `me`.
//                   In all_to_all_v block k of the input of rank r is as large as block r of the output of rank k.
//   barrier         output: one block of zero bytes, which is sent all the same. No rank ends before all have begun.
//
// A scratch block holds nothing at the start. It is as large as the largest block of the other spaces. So in collectives with equal blocks every
// transfer has the same size, with scratch or without. In ..._v a scratch block is as large as the input's block of its number. Near-equal blocks
// differ in size, so a plan that cuts S in several blocks has no scratch. With one rank the plan is empty, unless input must become output and
// nothing is reduced; then it is one copy. Input and output may be the same memory in the rank's own block (reduce_scatter, gather, scatter).

/// The rank that a builder makes a plan for: rank `me` of `size`, and the root (0 where there is none). Only the algorithms whose row has `fits`
/// read `hosts`, which must outlive the call.
struct participant {
    rank me = 0;
    int size = 1;
    rank root = 0;
    const host_map* hosts = nullptr;
};

/// A row of the catalogue. Rows are constants of the library. The chooser compares them; the engine calls `build` once for each root and caches
/// the plan.
struct algorithm {
    /// The collective that it carries out. Several rows may share a builder, as all_gather and all_gather_v do.
    collective kind;
    std::string_view name;               // "ring": unique within its collective, for options, tunings and messages
    schedule (*build)(participant);      // makes one rank's plan; pure, so all ranks agree without asking each other
    bool (*serves)(int size) = nullptr;  // returns whether `build` may be called for `size` ranks; null: for any number
    /// Contributions are combined in the order of ranks, so the operator need not commute. The tests prove it for every row.
    bool ordered = false;
    /// Returns the number of messages that wait for each other in a row, for plans in which that is more than any rank's rounds (a chain through
    /// all ranks). Null: the most rounds of a rank.
    int (*hops)(int size) = nullptr;
    /// Every element is combined in the one order and grouping of the deterministic mode (proof/grouping.hpp). Implies `ordered`. The tests prove it.
    bool grouped = false;
    bool (*fits)(const host_map&) = nullptr;  // returns whether it serves groups on these hosts; null: on any, and `build` reads no hosts
};

/// Returns all rows, in a fixed order that all ranks share: a row's index is its number on the wire.
std::span<const algorithm> catalogue() noexcept;

/// Returns the row of that collective and name; null when there is none.
const algorithm* find(collective kind, std::string_view name) noexcept;
/// Returns the row's index in the catalogue.
int number(const algorithm& entry) noexcept;
/// Returns whether the algorithm serves `size` ranks on these hosts.
inline bool serves(const algorithm& entry, int size, const host_map& hosts = {}) {
    return (entry.serves == nullptr || entry.serves(size)) && (entry.fits == nullptr || entry.fits(hosts));
}
/// Returns whether its results have the bits that the deterministic mode promises. There is only one way to combine two ranks.
constexpr bool deterministic(const algorithm& entry, int size) noexcept { return entry.grouped || size <= 2 || !reduces(entry.kind); }

}  // namespace tutti
