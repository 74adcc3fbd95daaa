// The kernels of the conformance tests; as simulated in simulated.cpp.

/// values[i] = factor * i, for the first `count`.
extern "C" __global__ void scaled_numbers(unsigned* values, unsigned count, unsigned factor) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = factor * i;
}

/// To an address where nothing is, if that is what `where` is.
extern "C" __global__ void written_nowhere(unsigned* where) { *where = 1; }
