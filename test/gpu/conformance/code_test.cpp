// Facts about loading code and launching it that the library relies on, seen through the tables alone.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#include <vector>

using namespace tutti;
using test::device;
using test::gate;
using test::testbed;

namespace {

constexpr unsigned count = 1000;

struct loaded_kernel {
    CUmodule code = nullptr;
    CUfunction handle = nullptr;

    explicit loaded_kernel(const testbed& bed) {
        REQUIRE(bed.cuda().cuModuleLoadData(&code, bed.image()) == CUDA_SUCCESS);
        REQUIRE(bed.cuda().cuModuleGetFunction(&handle, code, "scaled_numbers") == CUDA_SUCCESS);
    }
};

void launch(const device& on, CUfunction kernel, CUstream where, CUdeviceptr values, unsigned factor) {
    unsigned number = count;
    void* parameters[] = {&values, &number, &factor};
    CHECK(on.cuda.cuLaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, where, parameters, nullptr) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("a kernel of a loaded image does its work in the order of its stream, with the parameters of the launch") {
    testbed bed;
    if (bed.code().bytes.empty()) return test::skip("this program was built without nvcc, and has no kernels");
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const loaded_kernel kernel(bed);
    const CUdeviceptr values = on.allocate(count * sizeof(unsigned));
    unsigned* const seen = on.pin<unsigned>(count);
    const CUevent behind = on.event();
    {
        gate closed(bed, stream);
        launch(on, kernel.handle, stream, values, 7);
        launch(on, kernel.handle, stream, values, 3);
        CHECK(on.cuda.cuEventRecord(behind, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuEventQuery(behind) == CUDA_ERROR_NOT_READY);
    }
    CHECK(on.cuda.cuMemcpyDtoHAsync(seen, values, count * sizeof(unsigned), stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    std::vector<unsigned> expected(count);
    for (unsigned i = 0; i < count; ++i) expected[i] = 3 * i;
    CHECK(std::vector<unsigned>(seen, seen + count) == expected);
    CHECK(on.cuda.cuModuleUnload(kernel.code) == CUDA_SUCCESS);
}

TEST_CASE("a kernel that is not in the image is not found, and nothing is broken by that") {
    testbed bed;
    if (bed.code().bytes.empty()) return test::skip("this program was built without nvcc, and has no kernels");
    device on(bed.cuda());
    const loaded_kernel kernel(bed);
    CUfunction other = nullptr;
    CHECK(on.cuda.cuModuleGetFunction(&other, kernel.code, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
    CHECK(on.cuda.cuStreamSynchronize(on.stream()) == CUDA_SUCCESS);
    CHECK(on.cuda.cuModuleUnload(kernel.code) == CUDA_SUCCESS);
}
