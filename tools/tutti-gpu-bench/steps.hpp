// How much of the communication of a training step hides behind its computing, for each way of writing the step.
#pragma once

#include "figures.hpp"
#include "training.hpp"

#include <tutti/communicator.hpp>
#include <tutti/task.hpp>

#include <array>
#include <span>
#include <string>

namespace gpu_bench {

struct overlap_plan {
    training_plan training;
    int steps = 10;        // of each variant, in turns; one more before, which is not counted
    bool balanced = true;  // layers are made to compute as long as communication takes; else they are left as they are
    std::span<const variant> measured = variants;
};

/// Times are this rank's; only those of a rank with a device mean anything.
struct overlap_row {
    training_plan training;
    int launches = 0;
    std::array<percentiles, variants.size()> seconds;
    std::array<step_figures, variants.size()> figures;  // of those that do both
    step_record trace;                                  // of one overlapped step more
    double hidden = 0;                                  // part of the traced communication during which layers computed
    std::size_t wrong = 0;                              // elements, on all ranks

    const percentiles& of(variant how) const noexcept { return seconds[static_cast<std::size_t>(how)]; }
};

/// All ranks call it with the same plan.
tutti::task<overlap_row> measure_overlap(tutti::communicator& world, trainer& mine, int ranks_on_devices, const overlap_plan& plan);

/// The traced step, drawn.
std::string timeline_of(const overlap_row& row, const std::string& engine);

}  // namespace gpu_bench
