// What tutti::run does, for a process that knows who it is; and with algorithms that are not left to the cost model, to measure them.
#pragma once

#include "algorithm/catalogue.hpp"
#include "engine/engine.hpp"

#include <tutti/context.hpp>

#include <functional>
#include <vector>

namespace tutti {

/// A program's main that looks inside: at the engine of its communicator.
using inside_task = std::function<task<int>(communicator&, engine&)>;

/// `forced` are taken whatever they cost, where they serve the number of ranks; the same on all ranks, or their first operation is a
/// mismatch. Returns the process's exit code.
int run_as(const world& who, const std::vector<const algorithm*>& forced, const inside_task& main, context_options options = {});

}  // namespace tutti
