// Messages that go through the host, on ranks of which some have no device.
#include "device/ranks.hpp"

namespace staged_exchange_test {

using namespace tutti;
using test::device_rank;
using test::device_stage;
using test::rank_memory;

namespace {

std::uint32_t number(rank from, rank to, std::size_t index) {
    return static_cast<std::uint32_t>(1000 * from + 100 * to) + static_cast<std::uint32_t>(index);
}

void fill(const rank_memory& memory, rank from, rank to) {
    for (std::size_t index = 0; index < memory.bytes / 4; ++index) memory.at<std::uint32_t>(index) = number(from, to, index);
}
bool holds(const rank_memory& memory, rank from, rank to) {
    for (std::size_t index = 0; index < memory.bytes / 4; ++index)
        if (memory.at<std::uint32_t>(index) != number(from, to, index)) return false;
    return true;
}

/// With everybody, itself included, at once: more messages than slots have room for, each of several pieces.
task<> talk_to_all(device_rank& here) {
    const int size = here.all.size();
    for (const std::size_t words : {std::size_t{1}, std::size_t{1000}}) {
        std::vector<rank_memory> mine, theirs;
        std::vector<gpu::transfer> parts;
        for (rank peer = 0; peer < size; ++peer)
            for (int turn = 0; turn < 3; ++turn) {
                mine.push_back(here.place(4 * words));
                theirs.push_back(here.place(4 * words));
                fill(mine.back(), here.me + turn, peer);
                parts.push_back(gpu::send_to(mine.back().all<std::uint32_t>(), peer));
                parts.push_back(gpu::recv_from(theirs.back().all<std::uint32_t>(), peer));
            }
        auto talking = here.all.exchange(parts);
        co_await std::move(talking);
        for (rank peer = 0; peer < size; ++peer)
            for (int turn = 0; turn < 3; ++turn) CHECK(holds(theirs[static_cast<std::size_t>(3 * peer + turn)], peer + turn, here.me));
    }
}

/// One rank sends several messages at once, and the other takes them one after the other. Each is larger than all of the memory for messages.
task<> take_turns(device_rank& here) {
    const rank_memory one = here.place(40000), other = here.place(40000);
    if (here.me == 0) {
        fill(one, 0, 1);
        fill(other, 0, 2);
        auto both = here.all.exchange({gpu::send_to(one.all<std::uint32_t>(), 1), gpu::send_to(other.all<std::uint32_t>(), 1)});
        co_await std::move(both);
    } else if (here.me == 1) {
        gpu::operation first = here.all.recv(one.all<std::uint32_t>(), 0);
        gpu::operation second = here.all.recv(other.all<std::uint32_t>(), 0);
        co_await std::move(first);
        CHECK(holds(one, 0, 1));
        co_await std::move(second);
        CHECK(holds(other, 0, 2));
    } else {
        auto nothing = here.all.exchange({});
        co_await std::move(nothing);
    }
}

}  // namespace

TEST_CASE("messages of any number and length reach their ranks, whatever order these take them in") {
    for (const auto& body : {talk_to_all, take_turns})
        for (const bool mixed : {true, false}) {
            device_stage stage(3);
            test::mix(stage);
            stage.group.engine = gpu::engine_kind::staged;
            if (!mixed) stage.device_of = [](rank me) { return me; };
            stage.run(body);
        }
}

}  // namespace staged_exchange_test
