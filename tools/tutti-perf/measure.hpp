// Times one collective of one size, the way a program would call it: awaited in a coroutine on the program's loop.
#pragma once

#include "options.hpp"
#include "table.hpp"

#include <tutti/communicator.hpp>

namespace perf {

/// Called on every rank; rank 0's row is complete.
tutti::task<row> measure(tutti::communicator& world, const options& given, std::uint64_t bytes);

}  // namespace perf
