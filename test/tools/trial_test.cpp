#include "trial.hpp"

#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace perf;
using namespace tutti;

namespace {

task<> once(communicator& world, trial& what) {
    if (what.played()) {
        auto all = what.play(world);
        co_await std::move(all);
    } else {
        auto done = what.start(world);
        co_await std::move(done);
    }
}

/// One operation on every rank; then one element of each rank's output is spoilt.
task<> try_out(communicator& world, const options& given, std::uint64_t bytes) {
    trial what(given, given.count_for(bytes, world.size()), world);
    what.fill();
    auto work = once(world, what);
    co_await std::move(work);
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

/// Vectors of 24 bytes, which have a cache line each.
task<> take_turns(communicator& world, const options& given, std::size_t memory_bytes) {
    trial what(given, given.count_for(24, world.size()), world, memory_bytes);
    std::set<const void*> inputs, outputs;
    for (int turn = 0; turn < 6; ++turn) {
        if (turn % 3 == 0 || given.in_place) what.fill();
        auto work = once(world, what);
        co_await std::move(work);
        CHECK(what.wrong() == 0);
        inputs.insert(what.input().data);
        outputs.insert(what.output().data);
    }
    CHECK(inputs.size() == std::max<std::size_t>(1, (memory_bytes + 63) / 64));
    CHECK(outputs.size() == inputs.size());
}

}  // namespace

TEST_CASE("every operation gives what is expected, and one wrong element is seen") {
    for (const subject& each : subjects())
        for (const bool in_place : {false, true})
            for (const int size : {1, 2, 3, 5}) {
                if (in_place && !each.in_place(true)) continue;
                CAPTURE(each.name);
                CAPTURE(in_place);
                CAPTURE(size);
                options given;
                given.what = &each;
                given.in_place = in_place;
                given.arena = size == 2;
                try_out(given, size);
            }
}

TEST_CASE("operations take the vectors in turn, and each gives what is expected") {
    options given;
    given.what = &subjects().front();
    for (const bool in_place : {false, true})
        for (const std::size_t memory_bytes : {0u, 1u, 64u, 65u, 192u}) {
            CAPTURE(memory_bytes);
            given.in_place = in_place;
            const test::rank_body body = [&](communicator& world) { return take_turns(world, given, memory_bytes); };
            test::run_ranks(2, body);
        }
}

TEST_CASE("every type has its expected result of every operator that it has") {
    for (const data_type type : measured_types())
        for (const reduce_op op : measured_operators()) {
            if (!defined(op, type)) continue;
            options given;
            given.what = &subjects().front();
            given.type = type;
            given.reduce = op;
            CAPTURE(name(given.type));
            CAPTURE(name(given.reduce));
            try_out(given, 3);
        }
}

TEST_CASE("rank 0 of an exclusive scan gets what changes nothing") {
    for (const subject& each : subjects())
        for (const data_type type : measured_types())
            for (const reduce_op op : measured_operators()) {
                if (each.kind != collective::exclusive_scan || !defined(op, type) || op == reduce_op::avg) continue;
                options given;
                given.what = &each;
                given.type = type;
                given.reduce = op;
                CAPTURE(name(given.type));
                CAPTURE(name(given.reduce));
                try_out(given, 2);
            }
}

TEST_CASE("parts of unequal length have the shape that is documented") {
    const auto shares = [](collective kind, int size) {
        for (const subject& each : subjects())
            if (each.kind == kind) return shares_of(each, size);
        return std::uint64_t{0};
    };
    CHECK(shares(collective::all_reduce, 4) == 1);
    CHECK(shares(collective::gather, 4) == 4);
    CHECK(shares(collective::gather_v, 4) == 1 + 2 + 3 + 4);
    CHECK(shares(collective::all_to_all_v, 3) == 1 + 2 + 3);
    for (const subject& each : subjects())
        for (rank from = 0; from < 5; ++from)
            for (rank to = 0; to < 5; ++to)
                if (each.kind == collective::all_to_all_v) CHECK(each.shares(from, 5, to) == each.shares(to, 5, from));
}
