#include "trial.hpp"

#include "support/ranks.hpp"

#include <doctest/doctest.h>

using namespace perf;
using namespace tutti;

namespace {

/// One operation on every rank; then one element of each rank's output is spoilt.
task<> try_out(communicator& world, const options& given, std::uint64_t bytes) {
    trial what(given, given.count_for(bytes, world.size()), world.rank(), world.size());
    what.fill();
    auto done = what.start(world);
    co_await std::move(done);
    CHECK(what.wrong() == 0);
    const buffer result = what.output();
    const bool looks = what.count() > 0 && (!given.what->root_only || world.rank() == root);
    if (result.bytes() > 0) static_cast<unsigned char*>(result.data)[result.bytes() - 1] ^= 0x11;
    CHECK(what.wrong() == (looks ? 1 : 0));
}

void try_out(const options& given, int size) {
    for (const std::uint64_t bytes : {0u, 1u, 24u, 1009u}) {
        CAPTURE(bytes);
        const test::rank_body body = [&](communicator& world) { return try_out(world, given, bytes); };
        test::run_ranks(size, body);
    }
}

}  // namespace

TEST_CASE("every collective gives what is expected, and one wrong element is seen") {
    for (const subject& each : subjects())
        for (const bool in_place : {false, true})
            for (const int size : {1, 2, 3, 5}) {
                if (in_place && !each.in_place(true)) continue;
                CAPTURE(name(each.kind));
                CAPTURE(in_place);
                CAPTURE(size);
                options given;
                given.what = &each;
                given.in_place = in_place;
                try_out(given, size);
            }
}

TEST_CASE("every type and operator has its expected result") {
    for (const data_type type : measured_types())
        for (const reduce_op op : measured_operators()) {
            options given;
            given.what = &subjects().front();
            given.type = type;
            given.reduce = op;
            CAPTURE(name(given.type));
            CAPTURE(name(given.reduce));
            try_out(given, 3);
        }
}
