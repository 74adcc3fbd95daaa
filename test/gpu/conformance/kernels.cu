// The kernel of the conformance tests.

/// values[i] = factor * i, for the first `count`.
extern "C" __global__ void scaled_numbers(unsigned* values, unsigned count, unsigned factor) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = factor * i;
}
