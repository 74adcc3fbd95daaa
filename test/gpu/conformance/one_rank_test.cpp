// The library's communicator of devices over NCCL, as far as one process can show it: with one rank, and with one on each of two devices.
#include "gpu/conformance/collectives.hpp"
#include "gpu/conformance/skipped.hpp"
#include "gpu/poll_modes.hpp"

#include <algorithm>
#include <cstdint>

using namespace tutti;
using test::rank_place;
using test::testbed;

namespace {

gpu::group_options by_nccl() {
    gpu::group_options how;
    how.engine = gpu::engine_kind::nccl;
    return how;
}

void on_every_rank(const test::rank_body& body) {
    for (const gpu::poll_mode mode : {gpu::poll_mode::adaptive, gpu::poll_mode::thread}) {
        CAPTURE(static_cast<int>(mode));
        testbed bed;
        test::run_ranks(bed, {0}, bed.nccl_library(), by_nccl(), body, test::polled(mode));
    }
}

const test::abilities nccl{.all_types = false};

}  // namespace

TEST_CASE("one rank's collectives, of every type and operator, give what it has") {
    on_every_rank([](rank_place& here) { return test::all_collectives(here, nccl); });
}

TEST_CASE("one rank's lists, messages to itself, barrier and child, and many operations at once") {
    on_every_rank([](rank_place& here) { return test::other_operations(here); });
}

TEST_CASE("one rank's reducer leaves its gradients as they are") {
    on_every_rank([](rank_place& here) { return test::train(here); });
}

namespace {

task<> tell_engine(rank_place& here) {
    CHECK(here.all.engine().rfind("NCCL ", 0) == 0);
    CHECK(here.all.native() != nullptr);
    CHECK(here.all.size() == 1);
    auto met = here.all.barrier();
    co_await std::move(met);
}

/// NCCL scales on a kernel, out of place as in place.
task<> scale(rank_place& here) {
    const auto from = here.place_filled<float>(1000, 8.0F), to = here.place_filled<float>(1000, 0.0F);
    for (const double factor : {-0.25, 1.0, 0.0, 3.5}) {
        CAPTURE(factor);
        auto scaled = here.all.all_reduce(from.all<float>(), to.all<float>(), premul_sum(factor), here.behind_compute());
        co_await std::move(scaled);
        auto back = here.download(to);
        co_await std::move(back);
        CHECK(to.at<float>(999) == static_cast<float>(8 * factor));
    }
}

/// Returns whether the device and NCCL compute with floating numbers of 8 bits.
bool has_small_floats(const testbed& bed) {
    const test::device on(bed.cuda());
    CUdevice card = 0;
    int major = 0, version = 0;
    CHECK(on.cuda.cuDeviceGet(&card, 0) == CUDA_SUCCESS);
    CHECK(on.cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, card) == CUDA_SUCCESS);
    CHECK(bed.nccl().ncclGetVersion(&version) == ncclSuccess);
    return major >= 9 && version >= NCCL_VERSION(2, 24, 3);
}

task<> reduce_small_floats(rank_place& here) {
    const auto from = here.place_filled<std::uint8_t>(1000, 0x3c), to = here.place_filled<std::uint8_t>(1000, 0);
    for (const gpu::device_type type : {gpu::device_type::e4m3, gpu::device_type::e5m2})
        for (const reduction& op : {reduction(sum), reduction(max), reduction(avg)}) {
            CAPTURE(name(type));
            CAPTURE(name(op.kind()));
            auto cleared = gpu::fill(*here.compute, gpu::device_part(to.data, to.bytes, to.keep), std::byte{0});
            co_await std::move(cleared);
            auto reduced = here.all.all_reduce(gpu::const_device_span(from.data, 1000, type, from.keep),
                                               gpu::device_span(to.data, 1000, type, to.keep), op, here.behind_compute());
            co_await std::move(reduced);
            auto back = here.download(to);
            co_await std::move(back);
            CHECK(std::count(to.here, to.here + 1000, std::byte{0x3c}) == 1000);
        }
}

}  // namespace

TEST_CASE("one rank's floating numbers of 8 bits are reduced where the device and NCCL have them") {
    testbed bed;
    if (!has_small_floats(bed)) return test::skip("floating numbers of 8 bits: they want compute capability 9.0 and NCCL 2.24.3");
    test::run_ranks(bed, {0}, bed.nccl_library(), by_nccl(), reduce_small_floats);
}

TEST_CASE("a communicator of one rank says that NCCL carries it, and its barrier ends") { on_every_rank(tell_engine); }

TEST_CASE("one rank's pre-multiplied sums are scaled") { on_every_rank(scale); }

TEST_SUITE_BEGIN("two devices");

TEST_CASE("two ranks, each with a device, reduce, move and train by NCCL") {
    if (testbed(2).devices() < 2) return test::skip("two ranks on two devices: this host has one");
    for (const test::rank_body& body : {test::rank_body([](rank_place& here) { return test::all_collectives(here, nccl); }),
                                        test::rank_body(test::other_operations), test::rank_body(test::train)}) {
        testbed bed(2);
        test::run_ranks(bed, {0, 1}, bed.nccl_library(), by_nccl(), body);
    }
}

TEST_SUITE_END();
