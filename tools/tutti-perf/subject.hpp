// The operations that tutti-perf can measure, as one table: a row says how an operation is called and what must come out of it.
#pragma once

#include "algorithm/catalogue.hpp"

#include <tutti/communicator.hpp>

#include <optional>
#include <span>

namespace perf {

inline constexpr tutti::rank root = 0;

/// The arguments of a call.
struct operands {
    tutti::const_buffer input;
    tutti::buffer output;
    tutti::reduction op;
    std::span<const std::size_t> counts;  // of this rank's parts
    tutti::call_options options;
};

/// Where a part of an output comes from: it is `part` of the inputs of ranks `first` to `last` - 1, combined if they are several; what
/// changes nothing if there are none.
struct origin {
    tutti::rank first;
    tutti::rank last;
    int part;
};

/// One part, or one for every rank.
enum class parts { one, all };

struct subject {
    std::string_view name;
    std::optional<tutti::collective> kind = std::nullopt;  // none: messages
    parts input, output;
    bool root_only = false;              // no other rank has an output
    bool (*in_place)(bool asked);        // what is done when that is asked for
    double (*bus_factor)(double ranks);  // busbw by algbw, as nccl-tests define it; 1 where they define nothing
    /// How long part `part` is beside the others, of those of rank `me`; where there is one, it is part `me`.
    std::uint64_t (*shares)(tutti::rank me, int size, int part);
    origin (*origin_of)(tutti::rank me, int size, int part);
    tutti::future<> (*start)(tutti::communicator&, const operands&) = nullptr;  // null: `play` does it
    tutti::task<> (*play)(tutti::communicator&, operands) = nullptr;            // of what takes several calls one after the other

    constexpr bool reduces() const noexcept { return kind && tutti::reduces(*kind); }
    constexpr bool uneven() const noexcept { return kind && tutti::has_counts(*kind); }
};

std::span<const subject> subjects() noexcept;

/// Shares in the longer of input and output: the same on all ranks.
std::uint64_t shares_of(const subject& what, int size) noexcept;

}  // namespace perf
