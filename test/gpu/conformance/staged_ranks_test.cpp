// The library's communicator through the hosts, which needs no NCCL: ranks with a device and without, and ranks that share one.
#include "gpu/conformance/collectives.hpp"
#include "gpu/poll_modes.hpp"

using namespace tutti;
using test::no_device;
using test::rank_place;
using test::seats;
using test::testbed;

namespace {

struct crew {
    const char* name;
    seats devices;
    gpu::poll_mode polling = gpu::poll_mode::adaptive;
};
const crew crews[] = {
    {"one rank with a device, one without", {0, no_device}},
    {"one rank without a device, one with", {no_device, 0}},
    {"two ranks with the same device", {0, 0}},
    {"one rank", {0}},
    {"one rank with a device that a thread polls, one without", {0, no_device}, gpu::poll_mode::thread},
    {"two ranks with the same device, which a thread polls", {0, 0}, gpu::poll_mode::thread},
};

void on_every_rank(const test::rank_body& body) {
    const auto nccl = test::no_nccl();
    gpu::group_options how;
    how.engine = gpu::engine_kind::staged;
    how.chunk_bytes = 16 * KiB;
    for (const crew& each : crews) {
        CAPTURE(each.name);
        testbed bed;
        test::run_ranks(bed, each.devices, nccl, how, body, test::polled(each.polling));
    }
}

}  // namespace

TEST_CASE("collectives through the host, of every type and operator, give what a serial computation gives, whoever has a device") {
    on_every_rank([](rank_place& here) { return test::all_collectives(here, {}); });
}

TEST_CASE("lists, messages, barriers, children and many operations at once go through the host, whoever has a device") {
    on_every_rank([](rank_place& here) { return test::other_operations(here); });
}

TEST_CASE("a reducer averages through the host whoever has a device") {
    on_every_rank([](rank_place& here) { return test::train(here); });
}
