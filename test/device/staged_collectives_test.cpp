// Operations that go through the host, on ranks of which some have no device: against what a serial computation gives.
#include "device/collectives.hpp"

#include <algorithm>
#include <string>

namespace staged_collectives_test {

using namespace tutti;
using test::device_call;
using test::device_rank;
using test::device_stage;
using test::no_device;
using test::rank_memory;

namespace {

constexpr std::size_t chunk = 4096;  // the smallest

/// Which ranks have a device.
struct crew {
    const char* name;
    int size;
    std::function<int(rank)> device_of;
};

const crew crews[] = {
    {"all have a device", 3, [](rank me) { return me; }},
    {"two have the same device", 3, [](rank me) { return me % 2; }},
    {"rank 1 has none", 3, [](rank me) { return me == 1 ? no_device : me; }},
    {"rank 0 alone has one", 4, [](rank me) { return me == 0 ? 0 : no_device; }},
    {"none has one", 2, [](rank) { return no_device; }},
    {"one rank with a device", 1, [](rank me) { return me; }},
    {"one rank without", 1, [](rank) { return no_device; }},
};

device_stage& prepare(device_stage& stage, const crew& who) {
    stage.device_of = who.device_of;
    stage.group.engine = gpu::engine_kind::staged;
    stage.group.chunk_bytes = chunk;
    stage.group.window = 3;
    return stage;
}

/// Every kind, type and operator with few elements; and lengths around those of a chunk with some.
std::vector<device_call> everything(int size) {
    std::vector<device_call> list;
    const auto add = [&](collective kind, data_type type, const reduction& op, std::size_t count, rank root) {
        device_call one;
        one.what.kind = kind;
        one.what.type = type;
        one.what.op = op;
        one.what.count = count;
        one.what.root = root;
        test::add_ways(list, one);
    };
    std::size_t turn = 0;
    for (const collective kind : test::device_kinds)
        for (const reduction& op : test::all_ops) {
            if (!test::has_op(kind, op)) continue;
            for (const data_type type : test::all_types)
                if (!reduces(kind) || defined(op.kind(), type)) add(kind, type, op, 5, size / 2);
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, chunk / 16, chunk / 16 + 1, 2 * chunk, 3 * chunk + 77})
                add(kind, test::type_for(op, turn), op, count, static_cast<rank>(turn % static_cast<std::size_t>(size))), ++turn;
        }
    for (const collective kind : test::device_kinds) {
        if (reduces(kind)) continue;
        device_call one;
        one.what.kind = kind;
        one.what.type = data_type::opaque;
        one.what.opaque_bytes = 5000;  // more than a chunk
        one.what.count = 3;
        list.push_back(one);
    }
    return list;
}

/// Only the root names where results go; of no elements there is no memory either.
task<> send_nothing(device_rank& here) {
    const gpu::device_span nothing(nullptr, 0, data_type::u32);
    auto combined = here.me == 0 ? here.all.reduce(nothing, nothing, bor, 0) : here.all.reduce(nothing, {}, bor, 0);
    co_await std::move(combined);
    auto gathered = here.me == 0 ? here.all.gather(nothing, nothing, 0) : here.all.gather(nothing, {}, 0);
    co_await std::move(gathered);
}

}  // namespace

TEST_CASE("a rank that is not the root has the type of what it sends, also of nothing") {
    for (const crew& who : crews) {
        CAPTURE(who.name);
        device_stage stage(who.size);
        prepare(stage, who).run([](device_rank& here) { return send_nothing(here); });
    }
}

TEST_CASE("every operation through the host gives what a serial computation gives, whoever has a device") {
    for (const crew& who : crews) {
        CAPTURE(who.name);
        gpu::sim::options how;
        how.seed = static_cast<std::uint64_t>(who.size);
        device_stage stage(who.size, how);
        prepare(stage, who);
        const auto list = everything(who.size);
        stage.run([&list](device_rank& here) { return test::all_of(here, list); });
    }
}

}  // namespace staged_collectives_test
