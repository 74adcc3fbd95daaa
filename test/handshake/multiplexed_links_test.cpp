#include "handshake/multiplexed_links.hpp"

#include "handshake/greeting.hpp"
#include "open_house.hpp"
#include "transport/memory_transport.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

struct process {
    process(event_loop& loop, memory_network& network)
        : at(loop, network), door(loop, at, 5s, 20s), links(std::make_unique<multiplexed_links>(loop, at, door)) {
        door.expect(job);
        door.add(group);
    }
    ~process() { door.remove(group); }

    memory_transport at;
    link_acceptor door;
    open_house group;
    std::unique_ptr<multiplexed_links> links;
};

struct processes {
    event_loop loop{event_loop::virtual_time};
    memory_network network;
    process one{loop, network};
    process other{loop, network};
};

/// Opens a stream and introduces itself; returns null with the cause in `why` if that fails.
task<std::unique_ptr<tutti::link>> open_stream(processes& all, process& mine, process& theirs, rank who, std::string& why) {
    const time_point limit = all.loop.now() + 10s;
    auto stream = co_await mine.links->open(from(who), mine.at.address(), theirs.at.address(), limit, limit);
    if (stream) stream = co_await greet(std::move(*stream), theirs.at.address(), from(who), limit);
    if (!stream) {
        why = stream.failure().what();
        co_return nullptr;
    }
    co_return std::move(*stream);
}

task<int> a_turn() {
    co_await yield();
    co_return 0;
}

task<> a_moment() { co_await sleep_for(10ms); }

}  // namespace

TEST_CASE("all streams between two processes share one link, whoever opens them, and are greeted like links") {
    processes all;
    std::string why;
    std::vector<std::unique_ptr<tutti::link>> streams;
    for (int each = 0; each < 20; ++each) {
        streams.push_back(run(all.loop, open_stream(all, all.one, all.other, 3, why)));
        streams.push_back(run(all.loop, open_stream(all, all.other, all.one, 3, why)));
        CHECK(streams[streams.size() - 2] != nullptr);
        CHECK(streams.back() != nullptr);
    }
    CHECK(all.one.group.inside[3].size() == 20);
    CHECK(all.other.group.inside[3].size() == 20);
    CHECK(all.one.links->count() == 1);
    CHECK(all.other.links->count() == 1);
    CHECK(run(all.loop, open_stream(all, all.one, all.other, 13, why)) == nullptr);
    CHECK(contains(why, "it refused: unlucky"));
}

TEST_CASE("two processes that dial each other at once end up with one link") {
    processes all;
    std::string why;
    std::vector<task<std::unique_ptr<tutti::link>>> calls;
    for (int each = 0; each < 5; ++each) {
        calls.push_back(open_stream(all, all.one, all.other, 3, why));
        calls.push_back(open_stream(all, all.other, all.one, 3, why));
    }
    const auto streams = run(all.loop, when_all(std::move(calls)));
    for (const auto& each : streams) CHECK(each != nullptr);
    CHECK(why == "");
    CHECK(all.one.links->count() == 1);
    CHECK(all.other.links->count() == 1);
}

TEST_CASE("a stream to a process that is not there fails at its limit, and names both ranks and the address") {
    processes all;
    std::string why;
    all.other.at.close();
    CHECK(run(all.loop, open_stream(all, all.one, all.other, 3, why)) == nullptr);
    CHECK(contains(why, "rank 1 could not be reached from rank 3"));
    CHECK(contains(why, all.other.at.address()));
}

TEST_CASE("a stream that is given up leaves the call for the next one") {
    processes all;
    std::string why;
    {
        auto both = when_any(open_stream(all, all.one, all.other, 3, why), a_turn());
        CHECK(run(all.loop, std::move(both)).index() == 1);
    }
    CHECK(run(all.loop, open_stream(all, all.one, all.other, 3, why)) != nullptr);
}

TEST_CASE("after a process has lost its links, the next stream dials again") {
    processes all;
    std::string why;
    const auto first = run(all.loop, open_stream(all, all.one, all.other, 3, why));
    all.other.group.inside.clear();
    all.other.links.reset();
    all.other.links = std::make_unique<multiplexed_links>(all.loop, all.other.at, all.other.door);
    run(all.loop, a_moment());
    CHECK(all.one.links->count() == 0);
    CHECK(run(all.loop, open_stream(all, all.one, all.other, 3, why)) != nullptr);
    CHECK(all.one.links->count() == 1);
}
