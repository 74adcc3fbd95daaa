// libcuda.so.1 of the simulator is a name for what libtutti-gpu-sim.so exports: dlsym looks in what a library needs, too.
#include <cuda.h>

/// So that the linker sees the need.
extern const decltype(&cuInit) tutti_simulated_cuda;
const decltype(&cuInit) tutti_simulated_cuda = &cuInit;
