// tutti::run for a process that knows its world already, and with forced algorithms, to measure them.
#pragma once

#include "algorithm/catalogue.hpp"
#include "engine/engine.hpp"

#include <tutti/context.hpp>

#include <functional>
#include <vector>

namespace tutti {

/// A main that also gets the engine of its communicator.
using inside_task = std::function<task<int>(communicator&, engine&)>;

/// Returns the process's exit code. `forced` algorithms are taken whatever they cost, where they serve the number of ranks. The list is the
/// same on all ranks, or the first such operation is a mismatch.
int run_as(const world& who, const std::vector<const algorithm*>& forced, const inside_task& main, context_options options = {});

}  // namespace tutti
