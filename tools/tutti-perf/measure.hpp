// Times collectives the way a program would call them: awaited in a coroutine on the program's loop.
#pragma once

#include "engine/engine.hpp"
#include "options.hpp"
#include "table.hpp"

#include <tutti/communicator.hpp>

#include <functional>

namespace perf {

/// Told every row when it is there, on every rank. `note` goes behind the row as text.
using report = std::function<void(const row& made, const std::string& note)>;

/// Called on every rank, for all that `given` asks for. `local_ranks`: on this host. `inside`: what chooses `world`'s
/// algorithms.
tutti::task<> measure(tutti::communicator& world, const options& given, int local_ranks, const tutti::engine& inside, const report& tell);

/// Those of rank 0's host that its ranks may use. Each may be bound to some of them, so a rank alone does not know them.
int cores_of(const tutti::engine& inside) noexcept;

}  // namespace perf
