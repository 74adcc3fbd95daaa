// Every algorithm there is, as one table: what it computes, its name, its builder.
#pragma once

#include "schedule/schedule.hpp"

#include <span>
#include <string_view>

namespace tutti {

enum class collective : std::uint8_t { all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, barrier, send, recv };
constexpr std::string_view name(collective kind) noexcept {
    constexpr std::string_view names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier", "send", "recv"};
    return names[static_cast<int>(kind)];
}

/// Who builds a plan for: this rank, of that many, with that root (0 where there is none).
struct place {
    rank me = 0;
    int size = 1;
    rank root = 0;
};

struct algorithm {
    collective kind;
    std::string_view name;             // "ring"
    schedule (*build)(place where);
    bool (*serves)(int size);          // null: every size
};

/// In a fixed order that all ranks share; an algorithm's index is its number on the wire.
std::span<const algorithm> catalogue() noexcept;

}  // namespace tutti
