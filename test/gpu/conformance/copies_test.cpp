// Facts about copies between host and device, and what the host may do meanwhile.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#include <algorithm>
#include <vector>

using namespace tutti;
using test::device;
using test::gate;
using test::testbed;

namespace {

constexpr std::size_t bytes = 50'000;

/// Device memory that holds this everywhere.
CUdeviceptr filled(device& on, CUstream stream, unsigned char value) {
    const CUdeviceptr made = on.allocate(bytes);
    CHECK(on.cuda.cuMemsetD8Async(made, value, bytes, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    return made;
}

std::size_t count_of(const unsigned char* where, unsigned char value) {
    return static_cast<std::size_t>(std::count(where, where + bytes, value));
}

}  // namespace

TEST_CASE("copies of pinned memory wait for their turn in the stream, and the host does not wait for them") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUdeviceptr memory = filled(on, stream, 1);
    auto* const from = on.pin<unsigned char>(bytes);
    auto* const to = on.pin<unsigned char>(bytes);
    std::fill_n(from, bytes, static_cast<unsigned char>(2));
    std::fill_n(to, bytes, static_cast<unsigned char>(0));
    {
        gate closed(bed, stream);
        CHECK(on.cuda.cuMemcpyHtoDAsync(memory, from, bytes, stream) == CUDA_SUCCESS);
        CHECK(on.cuda.cuMemcpyDtoHAsync(to, memory, bytes, stream) == CUDA_SUCCESS);
        CHECK(count_of(to, 0) == bytes);
        std::fill_n(from, bytes, static_cast<unsigned char>(3));  // before its turn: this is what is copied
    }
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(count_of(to, 3) == bytes);
}

TEST_CASE("memory that was registered is copied as pinned memory is") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUdeviceptr memory = filled(on, stream, 4);
    std::vector<unsigned char> ordinary(bytes, 0);
    REQUIRE(on.cuda.cuMemHostRegister(ordinary.data(), bytes, 0) == CUDA_SUCCESS);
    {
        gate closed(bed, stream);
        CHECK(on.cuda.cuMemcpyDtoHAsync(ordinary.data(), memory, bytes, stream) == CUDA_SUCCESS);
        CHECK(count_of(ordinary.data(), 0) == bytes);
    }
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(count_of(ordinary.data(), 4) == bytes);
    CHECK(on.cuda.cuMemHostUnregister(ordinary.data()) == CUDA_SUCCESS);
}

TEST_CASE("pageable memory may be written again when a copy from it has been called, and is there when one to it has") {
    testbed bed;
    device on(bed.cuda());
    const CUstream stream = on.stream();
    const CUdeviceptr memory = filled(on, stream, 1);
    std::vector<unsigned char> pageable(bytes, 5);
    bed.provoke([&] { CHECK(on.cuda.cuMemcpyHtoDAsync(memory, pageable.data(), bytes, stream) == CUDA_SUCCESS); });
    std::fill(pageable.begin(), pageable.end(), static_cast<unsigned char>(6));
    auto* const seen = on.pin<unsigned char>(bytes);
    CHECK(on.cuda.cuMemcpyDtoHAsync(seen, memory, bytes, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(count_of(seen, 5) == bytes);
    bed.provoke([&] { CHECK(on.cuda.cuMemcpyDtoHAsync(pageable.data(), memory, bytes, stream) == CUDA_SUCCESS); });
    CHECK(count_of(pageable.data(), 5) == bytes);
}

TEST_CASE("pinned memory has an address of its own on the device, which a stream can write to") {
    testbed bed;
    if (bed.cuda().cuStreamWriteValue32 == nullptr) return test::skip("this driver has no cuStreamWriteValue32");
    device on(bed.cuda());
    const CUstream stream = on.stream();
    auto* const flag = on.pin<unsigned>(2);
    flag[0] = flag[1] = 0;
    CUdeviceptr address = 0;
    CHECK(on.cuda.cuMemHostGetDevicePointer(&address, flag, 0) == CUDA_SUCCESS);
    {
        gate closed(bed, stream);
        CHECK(on.cuda.cuStreamWriteValue32(stream, address, 7, 0) == CUDA_SUCCESS);
        CHECK(flag[0] == 0);
    }
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(flag[0] == 7);
    CHECK(flag[1] == 0);
}
