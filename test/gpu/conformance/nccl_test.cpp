// Facts about NCCL that the library relies on, with one rank, which is what any host with a device can show.
#include "gpu/conformance/skipped.hpp"
#include "gpu/conformance/testbed.hpp"

#include <cstring>

using namespace tutti;
using test::device;
using test::testbed;

namespace {

/// A non-blocking communicator of one rank, and a stream for it.
class alone {
public:
    explicit alone(const testbed& bed) : on(bed.cuda()), nccl(bed.nccl()), stream(on.stream()), bed_(bed) {
        ncclUniqueId id;
        REQUIRE(nccl.ncclGetUniqueId(&id) == ncclSuccess);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        const ncclResult_t begun = nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &config);
        CHECK((begun == ncclInProgress || begun == ncclSuccess));
        CHECK(comm != nullptr);
        REQUIRE(bed.settled(comm) == ncclSuccess);
    }
    ~alone() {
        CHECK(done(nccl.ncclCommFinalize(comm)));
        CHECK(nccl.ncclCommDestroy(comm) == ncclSuccess);
    }
    /// Returns whether the call was taken, and its communicator is ready again.
    bool done(ncclResult_t result) const {
        return (result == ncclInProgress || result == ncclSuccess) && bed_.settled(comm) == ncclSuccess;
    }
    bool ended() const { return on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS; }

    std::vector<std::byte> fetch(CUdeviceptr from, std::size_t bytes) {
        auto* const host = on.pin<std::byte>(bytes);
        CHECK(on.cuda.cuMemcpyDtoHAsync(host, from, bytes, stream) == CUDA_SUCCESS);
        CHECK(ended());
        return std::vector<std::byte>(host, host + bytes);
    }
    template <class T>
    T* put(const std::vector<T>& values) {
        T* const host = on.pin<T>(values.size());
        std::copy(values.begin(), values.end(), host);
        const CUdeviceptr memory = on.allocate(values.size() * sizeof(T));
        CHECK(on.cuda.cuMemcpyHtoDAsync(memory, host, values.size() * sizeof(T), stream) == CUDA_SUCCESS);
        CHECK(ended());
        return reinterpret_cast<T*>(memory);
    }
    template <class T>
    std::vector<T> get(const T* from, std::size_t count) {
        const auto bytes = fetch(reinterpret_cast<CUdeviceptr>(from), count * sizeof(T));
        std::vector<T> values(count);
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }

    device on;
    const gpu::nccl_table& nccl;
    CUstream stream;
    ncclComm_t comm = nullptr;

private:
    const testbed& bed_;
};

struct type_row {
    ncclDataType_t type;
    std::size_t bytes;
    std::uint64_t three;  // the bits of the number 3
};
const type_row types[] = {
    {ncclInt8, 1, 3},
    {ncclUint8, 1, 3},
    {ncclInt32, 4, 3},
    {ncclUint32, 4, 3},
    {ncclInt64, 8, 3},
    {ncclUint64, 8, 3},
    {ncclFloat16, 2, 0x4200},
    {ncclBfloat16, 2, 0x4040},
    {ncclFloat32, 4, 0x40400000},
    {ncclFloat64, 8, 0x4008000000000000},
};

}  // namespace

TEST_CASE("a non-blocking communicator becomes ready, and tells who it is") {
    testbed bed;
    int version = 0;
    CHECK(bed.nccl().ncclGetVersion(&version) == ncclSuccess);
    CHECK(version >= NCCL_VERSION(2, 18, 1));
    alone world(bed);
    int count = 0, rank = -1, ordinal = -1;
    CHECK(world.nccl.ncclCommCount(world.comm, &count) == ncclSuccess);
    CHECK(world.nccl.ncclCommUserRank(world.comm, &rank) == ncclSuccess);
    CHECK(world.nccl.ncclCommCuDevice(world.comm, &ordinal) == ncclSuccess);
    CHECK(count == 1);
    CHECK(rank == 0);
    CHECK(ordinal == 0);
}

TEST_CASE("a communicator is in progress until all ranks have come, and can be aborted meanwhile") {
    testbed bed;
    device on(bed.cuda());
    const auto& nccl = bed.nccl();
    ncclUniqueId id;
    REQUIRE(nccl.ncclGetUniqueId(&id) == ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t waiting = nullptr;
    CHECK(nccl.ncclCommInitRankConfig(&waiting, 2, id, 0, &config) == ncclInProgress);
    REQUIRE(waiting != nullptr);
    for (int times = 0; times < 100; ++times) {
        ncclResult_t state = ncclSuccess;
        CHECK(nccl.ncclCommGetAsyncError(waiting, &state) == ncclSuccess);
        CHECK(state == ncclInProgress);
    }
    CHECK(nccl.ncclCommAbort(waiting) == ncclSuccess);
    alone world(bed);  // and the next one is not hindered
}

TEST_CASE("a call has enqueued its work when its communicator is in progress no more: what is put on the stream then comes behind it") {
    testbed bed;
    alone world(bed);
    constexpr std::size_t count = 100'000;
    float* const from = world.put(std::vector<float>(count, 2));
    float* const to = world.put(std::vector<float>(count, 0));
    const CUevent behind = world.on.event();
    const CUstream other = world.on.stream();
    CHECK(world.done(
        world.nccl.ncclAllReduce(from, to, count, ncclFloat32, ncclSum, world.comm, world.stream)));  // the first may take its time
    CHECK(world.ended());
    for (int times = 0; times < 20; ++times) {
        test::gate closed(bed, world.stream);
        CHECK(world.done(world.nccl.ncclAllReduce(from, to, count, ncclFloat32, ncclSum, world.comm, world.stream)));
        CHECK(world.on.cuda.cuEventRecord(behind, world.stream) == CUDA_SUCCESS);
        CHECK(world.on.cuda.cuEventQuery(behind) == CUDA_ERROR_NOT_READY);
        closed.open();
        CHECK(world.on.cuda.cuStreamWaitEvent(other, behind, 0) == CUDA_SUCCESS);
        CHECK(world.on.cuda.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(from), 0, 4, other) == CUDA_SUCCESS);
        CHECK(world.on.cuda.cuStreamSynchronize(other) == CUDA_SUCCESS);
        CHECK(world.get(to, 2) == std::vector{times == 0 ? 2.0F : 0.0F, 2.0F});
    }
}

TEST_CASE("collectives of nothing are dropped") {
    testbed bed;
    alone world(bed);
    float* const data = world.put<float>({1});
    const auto& nccl = world.nccl;
    CHECK(world.done(nccl.ncclAllReduce(data, data, 0, ncclFloat32, ncclSum, world.comm, world.stream)));
    CHECK(world.done(nccl.ncclAllGather(data, data, 0, ncclFloat32, world.comm, world.stream)));
    CHECK(world.done(nccl.ncclReduceScatter(data, data, 0, ncclFloat32, ncclSum, world.comm, world.stream)));
    CHECK(world.done(nccl.ncclBroadcast(data, data, 0, ncclFloat32, 0, world.comm, world.stream)));
    CHECK(world.done(nccl.ncclReduce(data, data, 0, ncclFloat32, ncclSum, 0, world.comm, world.stream)));
    CHECK(world.ended());
    CHECK(world.get(data, 1) == std::vector{1.0F});
}

TEST_CASE("one rank's sum, product, maximum, minimum and average of every type are what it has") {
    testbed bed;
    alone world(bed);
    for (const type_row& row : types)
        for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg})
            for (const bool in_place : {false, true}) {
                CAPTURE(row.type);
                CAPTURE(op);
                CAPTURE(in_place);
                constexpr std::size_t count = 17;
                std::vector<std::byte> values(count * row.bytes);
                for (std::size_t index = 0; index < count; ++index) std::memcpy(values.data() + index * row.bytes, &row.three, row.bytes);
                std::byte* const from = world.put(values);
                std::byte* const to = in_place ? from : world.put(std::vector<std::byte>(values.size()));
                CHECK(world.done(world.nccl.ncclAllReduce(from, to, count, row.type, op, world.comm, world.stream)));
                CHECK(world.get(to, values.size()) == values);
            }
}

TEST_CASE("a pre-multiplied sum scales, and its operator may go when the call has returned") {
    testbed bed;
    if (bed.nccl().ncclRedOpCreatePreMulSum == nullptr || bed.nccl().ncclRedOpDestroy == nullptr)
        return test::skip("this NCCL has no pre-multiplied sum");
    alone world(bed);
    const auto& nccl = world.nccl;
    float factor = -0.25F;
    ncclRedOp_t op{};
    CHECK(nccl.ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, world.comm) == ncclSuccess);
    float* const from = world.put<float>({4, 8, 2});
    float* const to = world.put<float>({0, 0, 0});
    CHECK(world.done(nccl.ncclAllReduce(from, to, 3, ncclFloat32, op, world.comm, world.stream)));
    CHECK(nccl.ncclRedOpDestroy(op, world.comm) == ncclSuccess);
    CHECK(world.get(to, 3) == std::vector{-1.0F, -2.0F, -0.5F});
    std::int32_t threefold = 3;
    CHECK(nccl.ncclRedOpCreatePreMulSum(&op, &threefold, ncclInt32, ncclScalarHostImmediate, world.comm) == ncclSuccess);
    std::int32_t* const whole = world.put<std::int32_t>({5, -7});
    CHECK(world.done(nccl.ncclAllReduce(whole, whole, 2, ncclInt32, op, world.comm, world.stream)));
    CHECK(nccl.ncclRedOpDestroy(op, world.comm) == ncclSuccess);
    CHECK(world.get(whole, 2) == std::vector{15, -21});
}

TEST_CASE("a rank sends to itself in a group") {
    testbed bed;
    alone world(bed);
    const auto& nccl = world.nccl;
    std::int64_t* const from = world.put<std::int64_t>({7, 8, 9});
    std::int64_t* const to = world.put<std::int64_t>({0, 0, 0});
    CHECK(nccl.ncclGroupStart() == ncclSuccess);
    CHECK(nccl.ncclSend(from, 3, ncclInt64, 0, world.comm, world.stream) == ncclSuccess);
    CHECK(nccl.ncclRecv(to, 3, ncclInt64, 0, world.comm, world.stream) == ncclSuccess);
    CHECK(world.done(nccl.ncclGroupEnd()));
    CHECK(world.ended());
    CHECK(world.get(to, 3) == std::vector<std::int64_t>{7, 8, 9});
}

TEST_CASE("collectives that move copy what one rank has") {
    testbed bed;
    alone world(bed);
    const auto& nccl = world.nccl;
    float* const from = world.put<float>({1, 2});
    float* const to = world.put<float>({0, 0});
    const auto moves = [&](const char* what, ncclResult_t result) {
        CAPTURE(what);
        CHECK(world.done(result));
        CHECK(world.get(to, 2) == std::vector{1.0F, 2.0F});
        world.on.cuda.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(to), 0, 8, world.stream);
    };
    moves("all_gather", nccl.ncclAllGather(from, to, 2, ncclFloat32, world.comm, world.stream));
    moves("broadcast", nccl.ncclBroadcast(from, to, 2, ncclFloat32, 0, world.comm, world.stream));
    moves("reduce", nccl.ncclReduce(from, to, 2, ncclFloat32, ncclSum, 0, world.comm, world.stream));
    moves("reduce_scatter", nccl.ncclReduceScatter(from, to, 2, ncclFloat32, ncclMax, world.comm, world.stream));
    if (!nccl.ncclAlltoAll) MESSAGE("this NCCL has no ncclAlltoAll");
    else moves("all_to_all", nccl.ncclAlltoAll(from, to, 2, ncclFloat32, world.comm, world.stream));
    if (!nccl.ncclGather) MESSAGE("this NCCL has no ncclGather");
    else moves("gather", nccl.ncclGather(from, to, 2, ncclFloat32, 0, world.comm, world.stream));
    if (!nccl.ncclScatter) MESSAGE("this NCCL has no ncclScatter");
    else moves("scatter", nccl.ncclScatter(from, to, 2, ncclFloat32, 0, world.comm, world.stream));
    CHECK(world.ended());
}

TEST_CASE("a split gives a new communicator, or none without a colour") {
    testbed bed;
    if (bed.nccl().ncclCommSplit == nullptr) return test::skip("this NCCL has no split");
    alone world(bed);
    ncclComm_t made = nullptr;
    CHECK(world.done(world.nccl.ncclCommSplit(world.comm, 5, 0, &made, nullptr)));
    REQUIRE(made != nullptr);
    CHECK(bed.settled(made) == ncclSuccess);
    int count = 0;
    CHECK(world.nccl.ncclCommCount(made, &count) == ncclSuccess);
    CHECK(count == 1);
    const ncclResult_t finalized = world.nccl.ncclCommFinalize(made);
    CHECK((finalized == ncclInProgress || finalized == ncclSuccess));
    CHECK(bed.settled(made) == ncclSuccess);
    CHECK(world.nccl.ncclCommDestroy(made) == ncclSuccess);
    CHECK(world.done(world.nccl.ncclCommSplit(world.comm, NCCL_SPLIT_NOCOLOR, 0, &made, nullptr)));
    CHECK(made == nullptr);
}

TEST_CASE("a rank that cannot be is refused, and other communicators go on") {
    testbed bed;
    alone world(bed);
    float* const data = world.put<float>({1});
    ncclComm_t other = nullptr;
    ncclUniqueId id;
    CHECK(world.nccl.ncclGetUniqueId(&id) == ncclSuccess);
    bed.provoke([&] {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        CHECK(world.nccl.ncclCommInitRankConfig(&other, 1, id, 1, &config) == ncclInvalidArgument);
    });
    CHECK(world.done(world.nccl.ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, world.comm, world.stream)));
    CHECK(world.ended());
}
