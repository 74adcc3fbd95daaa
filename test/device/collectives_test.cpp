// Every operation with every type and operator that NCCL has, against what a serial computation gives.
#include "device/collectives.hpp"

#include <string>

namespace collectives_test {

using namespace tutti;
using test::device_call;
using test::device_rank;
using test::device_stage;

namespace {

std::vector<device_call> everything(int size, bool exact_average) {
    std::vector<device_call> list;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, static_cast<std::size_t>(size) - 1, std::size_t{257}})
        for (const collective kind : test::device_kinds)
            for (const data_type type : test::all_types)
                for (const reduction& op : test::all_ops) {
                    if (!test::has_op(kind, op)) continue;
                    if (reduces(kind) && !test::reduced_by_nccl(type, op)) continue;
                    if (op == avg && is_floating(type) && !exact_average) continue;
                    device_call one;
                    one.what.kind = kind;
                    one.what.type = type;
                    one.what.op = op;
                    one.what.count = count;
                    one.what.root = size / 2;
                    test::add_ways(list, one);
                }
    return list;
}

}  // namespace

TEST_CASE("every operation gives what a serial computation gives, for every type, operator and size") {
    for (const int size : {1, 2, 3, 4})
        for (const int polls : {0, 3}) {
            CAPTURE(size);
            CAPTURE(polls);
            gpu::sim::options how;
            how.polls = polls;
            how.seed = static_cast<std::uint64_t>(10 * size + polls);
            device_stage stage(size, how);
            const auto list = everything(size, size != 3);
            stage.run([&list](device_rank& here) { return test::all_of(here, list); });
        }
}

TEST_CASE("what an older NCCL lacks is done by messages") {
    gpu::sim::options how;
    how.missing = {"ncclAlltoAll", "ncclGather", "ncclScatter"};
    device_stage stage(3, how);
    std::vector<device_call> list;
    for (const device_call& each : everything(3, false))
        if (!reduces(each.what.kind)) list.push_back(each);
    stage.run([&list](device_rank& here) { return test::all_of(here, list); });
}

namespace {

task<> lists_and_messages(device_rank& here) {
    const int size = here.all.size();
    const auto one = here.filled<float>(5, static_cast<float>(here.me + 1)), two = here.filled<float>(0, 0.0f),
               three = here.filled<float>(1, 2.0f);
    auto listed = here.all.all_reduce({one, two, three}, sum);
    co_await std::move(listed);
    CHECK(here.at(one, 4) == static_cast<float>(size * (size + 1) / 2));
    CHECK(here.at(three, 0) == static_cast<float>(2 * size));

    // Around the ring, in both directions at once, with elements that NCCL has no type for.
    const auto mine = here.filled<std::int16_t>(3, static_cast<std::int16_t>(100 + here.me)), left = here.filled<std::int16_t>(3, 0),
               right = here.filled<std::int16_t>(3, 0);
    const rank next = (here.me + 1) % size, before = (here.me + size - 1) % size;
    auto ring = here.all.exchange(
        {gpu::send_to(mine, next), gpu::recv_from(left, before), gpu::send_to(mine, before), gpu::recv_from(right, next)});
    co_await std::move(ring);
    CHECK(here.at(left, 2) == 100 + before);
    CHECK(here.at(right, 0) == 100 + next);

    auto message = here.me == 0 ? here.all.send(mine, 1) : here.me == 1 ? here.all.recv(left, 0) : here.all.exchange({});
    co_await std::move(message);
    if (here.me == 1) CHECK(here.at(left, 1) == 100);
}

}  // namespace

TEST_CASE("lists of buffers are one operation, and so are the parts of an exchange") {
    device_stage stage(3);
    stage.run(lists_and_messages);
}

namespace {

task<> divide(device_rank& here) {
    auto splitting = here.all.split(here.me % 2, -here.me);
    const auto half = co_await std::move(splitting);
    CHECK(half->size() == 2);
    CHECK(half->rank() == (here.me < 2 ? 1 : 0));
    const auto data = here.filled<std::int32_t>(3, here.me);
    const auto all = here.filled<std::int32_t>(3, 1);
    auto within = half->all_reduce(data, sum);
    auto among = here.all.all_reduce(all, sum);
    co_await std::move(within);
    co_await std::move(among);
    CHECK(here.at(data, 2) == (here.me % 2 == 0 ? 2 : 4));
    CHECK(here.at(all, 2) == 4);
    auto closing = half->close();
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("a part of the ranks has a communicator of its own on the same devices") {
    device_stage stage(4);
    stage.run(divide);
}

namespace {

task<> sum_small_floats(device_rank& here) {
    // 1.5 and 3 in both types; 1.5 + 3 + 1.5 meets no number that is not among them.
    const auto one = here.filled<gpu::e4m3>(9, {static_cast<std::uint8_t>(here.me == 1 ? 0x44 : 0x3c)});
    const auto two = here.filled<gpu::e5m2>(9, {static_cast<std::uint8_t>(here.me == 1 ? 0x42 : 0x3e)});
    auto summed = here.all.all_reduce(one, sum);
    auto largest = here.all.all_reduce(two, max);
    co_await std::move(summed);
    co_await std::move(largest);
    CHECK(here.at(one, 8) == gpu::e4m3{0x4c});  // 6
    CHECK(here.at(two, 8) == gpu::e5m2{0x42});  // 3
}

task<> move_small_floats(device_rank& here, error& refused) {
    const auto data = here.filled<gpu::e4m3>(5, {static_cast<std::uint8_t>(here.me + 1)});
    auto given = here.all.broadcast(data, 1);
    co_await std::move(given);
    CHECK(here.at(data, 4) == gpu::e4m3{2});
    auto summed = here.all.all_reduce(data, sum);
    const auto how = co_await as_result(std::move(summed).completed());
    REQUIRE_FALSE(how);
    refused = static_cast<error>(how.failure().code().value());
    CHECK(std::string(how.failure().what()).find("compute capability is 8.9, and 9.0 is needed") != std::string::npos);
}

}  // namespace

TEST_CASE("small floats are combined where devices can") {
    device_stage stage(3);
    stage.run(sum_small_floats);
}

TEST_CASE("small floats are moved where devices cannot compute with them, and sums of them refused in words") {
    gpu::sim::options how;
    how.capability = 89;
    device_stage stage(2, how);
    error refused[2] = {};
    stage.run([&](device_rank& here) { return move_small_floats(here, refused[here.me]); });
    for (const error each : refused) CHECK(each == error::unsupported);
}

}  // namespace collectives_test
