#include "handshake/link_acceptor.hpp"

#include "handshake/greeting.hpp"
#include "open_house.hpp"
#include "transport/memory_link.hpp"
#include "transport/memory_transport.hpp"
#include "transport/stream.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

struct house {
    event_loop loop{event_loop::virtual_time};
    memory_network network;
    memory_transport mine{loop, network};
    memory_transport theirs{loop, network};
    link_acceptor door{loop, mine, 5s, 20s};
    open_house group;
};

task<std::string> admit(house& at, hello who) {
    auto opened = co_await open_link(at.theirs, at.mine.address(), who, at.loop.now() + 60s);
    if (!opened) co_return opened.failure().details().cause;
    co_return *opened ? "welcome" : "crossed";
}

}  // namespace

TEST_CASE("who belongs to an expected job and group gets in, others are told why not") {
    house at;
    at.door.expect(job);
    at.door.add(at.group);
    CHECK(run(at.loop, admit(at, from(3))) == "welcome");
    CHECK(at.group.inside.count(3) == 1);
    CHECK(contains(run(at.loop, admit(at, from(13))), "it refused: unlucky"));
    CHECK(contains(run(at.loop, admit(at, from(4, job + 1))), "another job"));
    CHECK(at.door.turned_away() == 2);
    at.door.remove(at.group);
}

TEST_CASE("a hello waits for a group that forms a little later, but not for ever") {
    house at;
    at.door.expect(job);
    const auto form_later = [](house& which) -> task<std::string> {
        co_await sleep_for(3s);
        which.door.add(which.group);
        co_return "";
    };
    std::vector<task<std::string>> both;
    both.push_back(admit(at, from(5)));
    both.push_back(form_later(at));
    CHECK(run(at.loop, when_all(std::move(both)))[0] == "welcome");
    const auto begin = at.loop.now();
    CHECK(contains(run(at.loop, admit(at, from(5, job, 43))), "no such communicator here"));
    CHECK(at.loop.now() - begin >= 20s);
    at.door.remove(at.group);
}

TEST_CASE("a lane for data of a group that is not here is refused at once, since its group has ended") {
    house at;
    at.door.expect(job);
    const auto begin = at.loop.now();
    for (const lane_kind each : {lane_kind::bulk, lane_kind::small, lane_kind::point}) {
        hello late = from(5);
        late.lane = each;
        CHECK(contains(run(at.loop, admit(at, late)), "no such communicator here"));
    }
    CHECK(at.loop.now() - begin < 1s);
}

TEST_CASE("of many who say nothing so many cost a link as are allowed, and who says hello behind them gets in after their time") {
    house at;
    at.door.expect(job);
    at.door.add(at.group);
    std::vector<std::unique_ptr<tutti::link>> silent;
    const auto crowd = [](house& which, std::vector<std::unique_ptr<tutti::link>>& into) -> task<> {
        for (std::size_t each = 0; each < link_acceptor::half_open_limit + 10; ++each) {
            auto opened = co_await which.theirs.connect(which.mine.address(), which.loop.now() + 1s);
            into.push_back(std::move(opened).value());
        }
        co_await sleep_for(1s);
    };
    run(at.loop, crowd(at, silent));
    CHECK(at.door.half_open() == link_acceptor::half_open_limit);
    CHECK(run(at.loop, admit(at, from(3))) == "welcome");
    CHECK(at.door.turned_away() > 0);
    at.door.remove(at.group);
}

TEST_CASE("who says nothing, or something else, costs a link and nothing more") {
    house at;
    at.door.expect(job);
    at.door.add(at.group);
    const auto misbehave = [](house& which, std::string text) -> task<std::string> {
        auto opened = co_await which.theirs.connect(which.mine.address(), which.loop.now() + 1s);
        const std::unique_ptr<tutti::link> over = std::move(opened).value();
        auto sent = co_await send_all(*over, std::as_bytes(std::span(text)));
        sent.value();
        std::array<std::byte, reply_bytes> answer{};
        auto heard = co_await recv_all(*over, answer);
        co_return heard ? "an answer" : heard.failure().code().message();
    };
    const auto begin = at.loop.now();
    CHECK(run(at.loop, misbehave(at, "")) == "peer died");
    CHECK(at.loop.now() - begin >= 5s);
    CHECK(run(at.loop, misbehave(at, "GET / HTTP/1.1\r\nHost: somewhere.example\r\nAccept: */*\r\nAnd: so on and so on\r\n\r\n")) == "peer died");
    CHECK(at.door.turned_away() == 2);
    CHECK(run(at.loop, admit(at, from(3))) == "welcome");
    at.door.remove(at.group);
}

TEST_CASE("a rank of another build is refused with both versions") {
    const auto call = [](house& at) -> task<std::string> {
        auto made = co_await at.theirs.connect(at.mine.address(), at.loop.now() + 60s);
        const std::unique_ptr<tutti::link> over = std::move(made).value();
        auto bytes = encode(from(3));
        bytes[4] = std::byte{99};  // the version
        (co_await send_all(*over, bytes)).value();
        std::array<std::byte, reply_bytes> answered{};
        (co_await recv_all(*over, answered)).value();
        const auto heard = decode_reply(answered);
        co_return heard && heard->what == answer::refused ? heard->why : "no refusal";
    };
    house at;
    at.door.expect(job);
    at.door.add(at.group);
    CHECK(run(at.loop, call(at)) == fmt::format("it is another build of Tutti: it speaks version {} on the wire, you speak 99", wire_version));
    CHECK(at.door.turned_away() == 1);
    at.door.remove(at.group);
}

TEST_CASE("a rank that opens a link where a stream is wanted gets the code of a lack of descriptors, and may open a stream") {
    house at;
    at.door.expect(job);
    at.door.add(at.group);
    at.group.wants_streams = true;
    const auto refused = run(at.loop, open_link(at.theirs, at.mine.address(), from(3), at.loop.now() + 60s));
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == std::errc::too_many_files_open);
    CHECK(contains(refused.failure().what(), "it has few descriptors left, and takes a stream instead"));
    auto pair = make_memory_links({at.loop, "theirs"}, {at.loop, "mine"}, 1000);
    at.door.greet_stream(std::move(pair.second));
    CHECK(run(at.loop, greet(std::move(pair.first), at.mine.address(), from(3), at.loop.now() + 60s)));
    CHECK(at.group.inside[3].size() == 1);
    at.door.remove(at.group);
}
