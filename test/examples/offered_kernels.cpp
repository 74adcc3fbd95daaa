// The library for TUTTI_SIM_KERNELS: the kernels of examples/digits/network.cu, compiled for the host, a call for each thread. They compute
// on a simulated device what the same text says on a real one.
#include "gpu/sim/machine.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace {

struct dimension {
    unsigned x = 0;
};
thread_local dimension blockIdx, blockDim, threadIdx;

}  // namespace

// Words of the device's compiler.
#undef __device__
#undef __global__
#define __device__
#define __global__
#include "digits/network.cu"

namespace {

using namespace tutti::gpu::sim;

/// A pointer of the device's becomes that of its shadow.
template <class T>
T here(const machine& on, T value) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(on.shadow(reinterpret_cast<CUdeviceptr>(value)));
    else return value;
}

template <class... Parameters, std::size_t... Indices>
void call(const machine& on, void (*code)(Parameters...), const kernel_launch& made, std::index_sequence<Indices...>) {
    blockDim.x = made.threads[0];
    for (blockIdx.x = 0; blockIdx.x < made.blocks[0]; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < made.threads[0]; ++threadIdx.x) code(here(on, made.parameter<Parameters>(Indices))...);
}

template <class... Parameters>
void offer(machine& to, const char* name, void (*code)(Parameters...)) {
    to.offer({name, {sizeof(Parameters)...}, [&to, code](const kernel_launch& made) {
                  kernel_work meant;
                  meant.length = std::chrono::microseconds(5);
                  meant.body = [&to, code, made] { call(to, code, made, std::index_sequence_for<Parameters...>()); };
                  return meant;
              }});
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void tutti_offer_kernels(machine& to);
void tutti_offer_kernels(machine& to) {
    offer(to, "digits_gather", digits_gather);
    offer(to, "digits_layer", digits_layer);
    offer(to, "digits_judge", digits_judge);
    offer(to, "digits_biases", digits_biases);
    offer(to, "digits_weights", digits_weights);
    offer(to, "digits_below", digits_below);
    offer(to, "digits_descend", digits_descend);
}
