// The machine of a program that makes none: one that loads the simulator as if it were the driver.
#pragma once

#include "gpu/sim/machine.hpp"

namespace tutti::gpu::sim {

/// The machine that lives. Where none does, a threaded one is made that lives to the program's end: TUTTI_SIM_DEVICES says how many
/// devices it has, TUTTI_SIM_DRIVER_VERSION and TUTTI_SIM_NCCL_VERSION what it claims to be. Misuse ends the program with status 86.
/// TUTTI_SIM_KERNELS is the path of a library whose `extern "C" void tutti_offer_kernels(machine&)` offers it kernels.
machine& machine_or_stand_alone();

}  // namespace tutti::gpu::sim
