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

/// A host's ranks, and the cores that they may use together. Each may be bound to some of them, so a rank alone does not know them.
struct shared_cores {
    int ranks, cores;
};

/// Of rank 0's host; `local_ranks` are on the host of this one. Called on every rank.
tutti::task<shared_cores> cores_of(tutti::communicator& world, int local_ranks, tutti::engine& inside);

/// Called on every rank, for all that `given` asks for. `inside`: what chooses `world`'s algorithms.
tutti::task<> measure(tutti::communicator& world, const options& given, shared_cores host, tutti::engine& inside, const report& tell);

}  // namespace perf
