// What tutti-perf can measure, as one table: a row says how a collective is called and what must come out of it.
#pragma once

#include "algorithm/catalogue.hpp"

#include <tutti/communicator.hpp>

#include <span>

namespace perf {

inline constexpr tutti::rank root = 0;

/// What a call takes.
struct operands {
    tutti::const_buffer input;
    tutti::buffer output;
    tutti::reduce_op op;
};

/// Where a part of an output comes from: it is `part` of the inputs of ranks `first` to `last` - 1, combined if they are several.
struct origin {
    tutti::rank first;
    tutti::rank last;
    int part;
};

/// One part, or one for every rank. All parts are equal.
enum class parts { one, all };

struct subject {
    tutti::collective kind;
    parts input, output;
    bool reduces;
    bool root_only;                      // nobody else has an output
    bool (*in_place)(bool asked);        // what is done when that is asked for
    double (*bus_factor)(double ranks);  // busbw by algbw, as nccl-tests define it; 1 where they define nothing
    origin (*origin_of)(tutti::rank me, int size, int part);
    tutti::future<> (*start)(tutti::communicator&, const operands&);
};

std::span<const subject> subjects() noexcept;

/// Parts in the longer of input and output.
constexpr std::uint64_t parts_of(const subject& what, int size) noexcept {
    return what.input == parts::all || what.output == parts::all ? static_cast<std::uint64_t>(size) : 1;
}

}  // namespace perf
