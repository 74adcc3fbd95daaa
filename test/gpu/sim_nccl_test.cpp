#include "gpu/ranks.hpp"
#include "gpu/sim/checked_machine.hpp"
#include "support/seeds.hpp"

namespace sim_nccl_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::ranks;

namespace {

sim::options with_devices(int devices) {
    sim::options how;
    how.devices = devices;
    return how;
}

}  // namespace

TEST_CASE("a collective begins when all streams have reached it, and ends for all at once") {
    sim::checked_machine machine(with_devices(3));
    ranks world(machine, 3);
    std::vector<float*> data;
    for (int rank = 0; rank < 3; ++rank) data.push_back(world.put<float>(rank, {static_cast<float>(rank), 1.0F}));
    world.on(1);
    machine.launch(world.stream(1), 500us);
    world.all([&](int rank) {
        return world.nccl.ncclAllReduce(data[ranks::at(rank)], data[ranks::at(rank)], 2, ncclFloat32, ncclSum, world.comm(rank),
                                        world.stream(rank));
    });
    machine.run();
    const auto ends = machine.trace().named("ncclAllReduce");
    REQUIRE(ends.size() == 3);
    for (const auto& each : ends) {
        CHECK(each.started == time_point(500us));
        CHECK(each.ended == ends[0].ended);
        CHECK(each.ended > each.started);
    }
    for (float* each : data) CHECK(world.get(each, 2) == std::vector{3.0F, 3.0F});
}

TEST_CASE("in every order of streams the data of all operations arrives") {
    for (std::uint64_t seed = 1; seed <= test::seeds(10); ++seed) {
        CAPTURE(seed);
        sim::options how = with_devices(4);
        how.seed = seed;
        how.jitter = 30us;
        how.polls = static_cast<int>(seed % 4);
        sim::checked_machine machine(how);
        ranks world(machine, 4);
        std::vector<std::int32_t*> from, to;
        for (int rank = 0; rank < 4; ++rank) {
            from.push_back(world.put<std::int32_t>(rank, {rank, 10 + rank, 20 + rank, 30 + rank}));
            to.push_back(world.put<std::int32_t>(rank, {0, 0, 0, 0}));
        }
        const auto& nccl = world.nccl;
        const auto run = [&](auto call) {
            world.all([&](int rank) { return call(from[ranks::at(rank)], to[ranks::at(rank)], world.comm(rank), world.stream(rank)); });
        };
        const auto got = [&](int rank, std::vector<std::int32_t> expected) {
            CAPTURE(rank);
            CHECK(world.get(to[ranks::at(rank)], 4) == expected);
        };
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclAllReduce(a, b, 4, ncclInt32, ncclMax, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) got(rank, {3, 13, 23, 33});
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclAllGather(a, b, 1, ncclInt32, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) got(rank, {0, 1, 2, 3});
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclReduceScatter(a, b, 1, ncclInt32, ncclSum, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) got(rank, {rank * 40 + 6, 1, 2, 3});
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclAlltoAll(a, b, 1, ncclInt32, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) got(rank, {rank * 10, rank * 10 + 1, rank * 10 + 2, rank * 10 + 3});
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclBroadcast(a, b, 4, ncclInt32, 2, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) got(rank, {2, 12, 22, 32});
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclReduce(a, b, 4, ncclInt32, ncclMin, 1, comm, stream); });
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclScatter(a, b, 1, ncclInt32, 3, comm, stream); });
        machine.run();
        for (int rank = 0; rank < 4; ++rank) {
            if (rank == 1) got(rank, {13, 10, 20, 30});
            else got(rank, {rank * 10 + 3, 12, 22, 32});
        }
        run([&](auto* a, auto* b, auto comm, auto stream) { return nccl.ncclGather(a, b, 1, ncclInt32, 0, comm, stream); });
        machine.run();
        got(0, {0, 1, 2, 3});
    }
}

TEST_CASE("messages of a group go on whatever the others wait for") {
    sim::checked_machine machine(with_devices(3));
    ranks world(machine, 3);
    std::vector<std::int32_t*> in, out;
    for (int rank = 0; rank < 3; ++rank) {
        out.push_back(world.put<std::int32_t>(rank, {rank}));
        in.push_back(world.put<std::int32_t>(rank, {-1}));
    }
    const auto send = [&](int rank, int to) {
        return world.nccl.ncclSend(out[ranks::at(rank)], 1, ncclInt32, to, world.comm(rank), world.stream(rank));
    };
    const auto recv = [&](int rank, int from) {
        return world.nccl.ncclRecv(in[ranks::at(rank)], 1, ncclInt32, from, world.comm(rank), world.stream(rank));
    };
    // Rank 0 does both at once; the others receive before they send.
    world.nccl.ncclGroupStart();
    CHECK(recv(0, 2) == ncclSuccess);
    CHECK(send(0, 1) == ncclSuccess);
    CHECK(world.nccl.ncclGroupEnd() == ncclInProgress);
    CHECK(world.settled(0) == ncclSuccess);
    for (int rank : {1, 2}) {
        CHECK(recv(rank, rank - 1) == ncclInProgress);
        CHECK(world.settled(rank) == ncclSuccess);
        CHECK(send(rank, (rank + 1) % 3) == ncclInProgress);
        CHECK(world.settled(rank) == ncclSuccess);
    }
    machine.run();
    CHECK(machine.idle());
    for (int rank = 0; rank < 3; ++rank) CHECK(world.get(in[ranks::at(rank)], 1)[0] == (rank + 2) % 3);
    CHECK(machine.trace().named("messages").size() == 1);
}

TEST_CASE("a split and a shrink make communicators of the right ranks in the right order") {
    sim::checked_machine machine(with_devices(4));
    ranks world(machine, 4);
    std::vector<ncclComm_t> made(4, reinterpret_cast<ncclComm_t>(1));
    const auto split = [&](int rank) {
        return world.nccl.ncclCommSplit(world.comm(rank), rank == 3 ? NCCL_SPLIT_NOCOLOR : rank % 2, -rank, &made[ranks::at(rank)],
                                        nullptr);
    };
    world.all(split, ncclSuccess);
    CHECK(made[3] == nullptr);
    const auto who = [&](ncclComm_t comm) {
        int rank = -1, count = -1, device = -1;
        CHECK(world.nccl.ncclCommUserRank(comm, &rank) == ncclSuccess);
        CHECK(world.nccl.ncclCommCount(comm, &count) == ncclSuccess);
        CHECK(world.nccl.ncclCommCuDevice(comm, &device) == ncclSuccess);
        return std::vector{rank, count, device};
    };
    CHECK(who(made[0]) == std::vector{1, 2, 0});
    CHECK(who(made[1]) == std::vector{0, 1, 1});
    CHECK(who(made[2]) == std::vector{0, 2, 2});
    for (int rank : {0, 1, 2}) CHECK(world.nccl.ncclCommDestroy(made[ranks::at(rank)]) == ncclSuccess);

    ncclComm_t smaller[4] = {};
    for (int rank : {0, 1, 3}) {
        int gone[] = {2};
        CHECK(world.nccl.ncclCommShrink(world.comm(rank), gone, 1, &smaller[rank], nullptr, NCCL_SHRINK_DEFAULT) == ncclSuccess);
        CHECK(smaller[rank] == nullptr);
    }
    for (int rank : {0, 1, 3}) CHECK(world.settled(rank) == ncclSuccess);
    CHECK(who(smaller[3]) == std::vector{2, 3, 3});
    for (int rank : {0, 1, 3}) CHECK(world.nccl.ncclCommDestroy(smaller[rank]) == ncclSuccess);
}

TEST_CASE("two ranks of one host on one device are refused, on two hosts they are not") {
    for (const bool same : {true, false}) {
        CAPTURE(same);
        sim::checked_machine machine;
        test::device on(machine.driver());
        const nccl_table nccl = machine.nccl();
        ncclUniqueId id;
        nccl.ncclGetUniqueId(&id);
        ncclComm_t comms[2] = {};
        for (int rank : {0, 1}) {
            machine.host(same ? "" : std::to_string(rank));
            ncclConfig_t config = ranks::non_blocking();
            CHECK(nccl.ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config) == ncclInProgress);
        }
        for (ncclComm_t each : comms) {
            ncclResult_t state = ncclInProgress;
            while (state == ncclInProgress) nccl.ncclCommGetAsyncError(each, &state);
            CHECK(state == (same ? ncclInvalidUsage : ncclSuccess));
        }
        if (same) CHECK(std::string(nccl.ncclGetLastError(nullptr)) == "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 0");
        for (ncclComm_t each : comms) nccl.ncclCommAbort(each);
    }
}

TEST_CASE("an older version lacks what it lacked") {
    sim::options how;
    how.nccl_version = NCCL_VERSION(2, 20, 5);
    how.missing = {"cuMemAllocAsync"};
    sim::checked_machine machine(how);
    int version = 0;
    CHECK(machine.nccl().ncclGetVersion(&version) == ncclSuccess);
    CHECK(version == 22005);
    CHECK((machine.nccl().ncclCommSplit != nullptr));
    CHECK((machine.nccl().ncclCommShrink == nullptr));
    CHECK((machine.nccl().ncclAlltoAll == nullptr));
    CHECK((machine.driver().cuMemAllocAsync == nullptr));
    CHECK((machine.driver().cuMemAlloc != nullptr));
}

}  // namespace sim_nccl_test
