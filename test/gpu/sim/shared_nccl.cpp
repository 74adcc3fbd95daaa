// libnccl.so.2 of the simulator is a name for what libtutti-gpu-sim.so exports: dlsym looks in what a library needs, too.
#include <nccl.h>

/// So that the linker sees the need.
extern const decltype(&ncclGetVersion) tutti_simulated_nccl;
const decltype(&ncclGetVersion) tutti_simulated_nccl = &ncclGetVersion;
