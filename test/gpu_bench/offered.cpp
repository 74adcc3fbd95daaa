// The library for TUTTI_SIM_KERNELS: a program that has loaded the simulator as its driver then has these kernels.
#include "kernels.hpp"

extern "C" [[gnu::visibility("default")]] void tutti_offer_kernels(tutti::gpu::sim::machine& to);
void tutti_offer_kernels(tutti::gpu::sim::machine& to) { tutti::test::offer_busy(to); }
