// Every algorithm there is, as one table: what it computes, its name, its builder.
#pragma once

#include "schedule/schedule.hpp"

#include <span>
#include <string_view>

namespace tutti {

enum class collective : std::uint8_t { all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, barrier };
constexpr std::string_view name(collective kind) noexcept {
    constexpr std::string_view names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"};
    return names[static_cast<int>(kind)];
}

// How each collective uses the spaces of a plan. S is the whole vector; "at the start" is what the engine provides, "at the end"
// what the plan promises. A plan may never write to `input`, the user's memory, which may be read-only.
//
//   all_reduce      no input. output: S in N balanced blocks, N as the algorithm likes. At the start this rank's contribution
//                   (the engine copies it there when the call is not in place), at the end the result, bit-identical on all ranks.
//   broadcast       no input. output: S in N balanced blocks. At the start the data at the root, at the end the data everywhere.
//   reduce          no input. output: S in N balanced blocks. At the start the contribution; at the end the result at the root and
//                   anything elsewhere (so a rank that is not the root gets a copy to work on).
//   all_gather      no input. output: `size` blocks, of any sizes. At the start only block `me` is filled, at the end block r holds
//                   what rank r contributed.
//   reduce_scatter  input: `size` equal blocks, the contribution. output: one block; at the end block `me` of the result.
//   all_to_all      input: `size` equal blocks, block p for rank p. output: `size` equal blocks, at the end block p from rank p.
//   barrier         output: one block of zero bytes, which is really exchanged. No rank ends before all have begun.
//
// A scratch block is as large as the largest block of the other spaces and holds nothing at the start. Plans use scratch only in
// collectives with equal blocks, so a transfer from or to scratch has the size of every other. With one rank the plan is
// empty, except where input must become output: there it is one copy.

/// Who builds a plan for: this rank, of that many, with that root (0 where there is none).
struct place {
    rank me = 0;
    int size = 1;
    rank root = 0;
};

struct algorithm {
    collective kind;
    std::string_view name;     // "ring"
    schedule (*build)(place);  // pure
    bool (*serves)(int size);  // null: every size
    /// Contributions are combined in the order of ranks, so an operator need not commute.
    bool ordered = false;
};

/// In a fixed order that all ranks share; an algorithm's index is its number on the wire.
std::span<const algorithm> catalogue() noexcept;

/// Null when there is none of that name.
const algorithm* find(collective kind, std::string_view name) noexcept;
/// Its place in the catalogue.
int number(const algorithm& entry) noexcept;
constexpr bool serves(const algorithm& entry, int size) noexcept { return entry.serves == nullptr || entry.serves(size); }
constexpr bool reduces(collective kind) noexcept {
    return kind == collective::all_reduce || kind == collective::reduce || kind == collective::reduce_scatter;
}
constexpr bool has_root(collective kind) noexcept { return kind == collective::broadcast || kind == collective::reduce; }

}  // namespace tutti
