// The work of a device while the benchmark measures: it waits or not, multiplies matrices, writes numbers. test/gpu_bench/kernels.cpp simulates it.

namespace {

__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

constexpr unsigned tile = 16;

}  // namespace

extern "C" {

// For so many nanoseconds; then `value` is written where the host sees it, as the last thing. One thread.
__global__ void delay(unsigned long long nanoseconds, volatile unsigned* flag, unsigned value) {
    const unsigned long long begin = now();
    while (now() - begin < nanoseconds) __nanosleep(100);
    __threadfence_system();
    *flag = value;
}

// Nothing at all. Any shape.
__global__ void nothing() {}

// c = a b, of matrices of n x n; n is a multiple of 16. Blocks of 16 x 16 threads, n / 16 in both directions.
__global__ void multiply(const float* a, const float* b, float* c, unsigned n) {
    __shared__ float left[tile][tile], right[tile][tile];
    const unsigned row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
    float result = 0;
    for (unsigned first = 0; first < n; first += tile) {
        left[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned i = 0; i < tile; ++i) result += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = result;
}

// The same number everywhere. Any shape.
__global__ void fill(float* to, unsigned long long count, float value) {
    const unsigned long long all = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += all) to[i] = value;
}
}
