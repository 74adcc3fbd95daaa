// Every algorithm there is, as one table: what it computes, its name, its builder.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <string_view>

namespace tutti {

// Their numbers travel in frames: new ones go to the end.
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
    all_gather_v,  // from here on with a count for each rank
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
/// Whether each rank has a count of its own.
constexpr bool has_counts(collective kind) noexcept { return kind >= collective::all_gather_v && kind <= collective::all_to_all_v; }
/// Whether its input holds a block for each rank.
constexpr bool spreads(collective kind) noexcept {
    using enum collective;
    return kind == reduce_scatter || kind == all_to_all || kind == scatter || kind == reduce_scatter_v || kind == all_to_all_v ||
           kind == scatter_v;
}
/// Whether its output holds a block from each rank.
constexpr bool collects(collective kind) noexcept {
    using enum collective;
    return kind == all_gather || kind == all_to_all || kind == gather || kind == all_gather_v || kind == all_to_all_v || kind == gather_v;
}

// How each collective uses the spaces of a plan. S is the whole vector; "at the start" is what the engine provides, "at the end"
// what the plan promises. A plan may never write to `input`, the user's memory, which may be read-only.
//
//   all_reduce      no input. output: S in N near-equal blocks, N as the algorithm likes. At the start this rank's contribution
//                   (the engine sees to that when the call is not in place), at the end the result, bit-identical on all ranks.
//   broadcast       no input. output: S in N near-equal blocks. At the start the data at the root, at the end the data everywhere.
//   reduce          no input. output: S in N near-equal blocks. At the start the contribution; at the end the result at the root and
//                   anything elsewhere (so a rank that is not the root gets a copy to work on).
//   all_gather      no input. output: `size` blocks. At the start only block `me` is filled, at the end block r holds
//                   what rank r contributed.
//   reduce_scatter  input: `size` equal blocks, the contribution. output: one block; at the start block `me` of the contribution, at the end
//                   of the result.
//   all_to_all      input: `size` equal blocks, block p for rank p. output: `size` equal blocks, at the end block p from rank p.
//   gather          input: one block. output: `size` blocks; at the end at the root block r is what rank r contributed, elsewhere there is
//                   no output.
//   scatter         input: `size` equal blocks, at the root only; elsewhere there is no input. output: one block, at the end the root's
//                   block `me`.
//   scan            no input. output: S in N near-equal blocks. At the start the contribution, at the end that of ranks 0 to me, combined.
//   exclusive_scan  no input. output: one block. At the start the contribution, at the end that of ranks 0 to me - 1, combined; at rank 0
//                   anything, since no plan knows the operator's identity, which the engine puts there.
//   ..._v           the same with blocks of unequal sizes: block k of `size` is rank k's, and one block alone is as large as block `me`.
//                   In all_to_all_v block k of the input of rank r is as large as block r of the output of rank k.
//   barrier         output: one block of zero bytes, which is really exchanged. No rank ends before all have begun.
//
// A scratch block holds nothing at the start. It is as large as the largest block of the other spaces, so in collectives with equal blocks
// a transfer from or to scratch has the size of every other; in ..._v it is as large as the input's block of its number. Near-equal blocks
// differ, so a plan that cuts S in several has no scratch. With one rank the plan is empty, except where input must become output and nothing is
// reduced: there it is one copy. Input and output may be the same memory in what is this rank's own (reduce_scatter, gather, scatter).

/// Who builds a plan for: this rank, of that many, with that root (0 where there is none). `hosts` tells who shares one, to those
/// algorithms that serve only some maps; it outlives the call.
struct participant {
    rank me = 0;
    int size = 1;
    rank root = 0;
    const host_map* hosts = nullptr;
};

struct algorithm {
    collective kind;
    std::string_view name;     // "ring"
    schedule (*build)(participant);  // pure
    bool (*serves)(int size);  // null: every size
    /// Contributions are combined in the order of ranks, so an operator need not commute.
    bool ordered = false;
    /// Messages that wait for each other in a row, where no rank's rounds tell; null: as many as the rounds of some rank.
    int (*hops)(int size) = nullptr;
    /// Every element is combined in the one order and grouping of the deterministic mode (proof/grouping.hpp).
    bool grouped = false;
    bool (*fits)(const host_map&) = nullptr;  // null: whoever shares a host
};

/// In a fixed order that all ranks share; an algorithm's index is its number on the wire.
std::span<const algorithm> catalogue() noexcept;

/// Null when there is none of that name.
const algorithm* find(collective kind, std::string_view name) noexcept;
/// Its place in the catalogue.
int number(const algorithm& entry) noexcept;
/// Whether it serves so many ranks on these hosts.
inline bool serves(const algorithm& entry, int size, const host_map& hosts = {}) {
    return (entry.serves == nullptr || entry.serves(size)) && (entry.fits == nullptr || entry.fits(hosts));
}
/// Whether its results have the bits that the deterministic mode promises. Two ranks can only be combined in one way.
constexpr bool deterministic(const algorithm& entry, int size) noexcept { return entry.grouped || size <= 2 || !reduces(entry.kind); }

}  // namespace tutti
