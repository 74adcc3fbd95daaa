#include "transport/stream.hpp"

#include "stage.hpp"
#include "transport/memory_link.hpp"

#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace tutti;
using namespace tutti::test;

namespace {

using bytes = std::vector<std::byte>;

bytes numbered(std::size_t count) {
    bytes made(count);
    for (std::size_t index = 0; index < count; ++index) made[index] = static_cast<std::byte>(index * 7 % 251);
    return made;
}

struct two_ends {
    explicit two_ends(std::size_t capacity = 100) : both(make_memory_links({loop, "one"}, {loop, "other"}, capacity)) {}
    tutti::link& one() { return *both.first; }
    tutti::link& other() { return *both.second; }

    event_loop loop{event_loop::virtual_time};
    std::pair<std::unique_ptr<tutti::link>, std::unique_ptr<tutti::link>> both;
};

task<> send_well(tutti::link& over, const bytes& data) {
    auto sent = co_await send_all(over, data);
    CHECK(sent.has_value());
}

task<> recv_well(tutti::link& over, bytes& data) {
    auto received = co_await recv_all(over, data);
    CHECK(received.has_value());
}

task<> recv_badly(tutti::link& over, bytes& data, std::error_code expected) {
    auto received = co_await recv_all(over, data);
    REQUIRE_FALSE(received.has_value());
    CHECK(received.failure().code() == expected);
    CHECK(std::string(received.failure().what()).find("the link to other ended") != std::string::npos);
}

}  // namespace

TEST_CASE("all bytes pass through a link that holds few of them") {
    two_ends with(100);
    const bytes out = numbered(10'000);
    bytes in(out.size());
    run(with.loop, when_all(send_well(with.one(), out), recv_well(with.other(), in)));
    CHECK(in == out);
}

TEST_CASE("nothing to move ends at once") {
    two_ends with;
    bytes none;
    run(with.loop, when_all(send_well(with.one(), none), recv_well(with.other(), none)));
}

TEST_CASE("a stream that ends too early says so, with the name of the other side") {
    two_ends with;
    const bytes out = numbered(10);
    run(with.loop, send_well(with.other(), out));
    with.other().close();
    bytes in(11);
    run(with.loop, recv_badly(with.one(), in, error::peer_died));
}

TEST_CASE("sending to one who has gone says so") {
    two_ends with;
    with.other().close();
    const auto send = [](tutti::link& over) -> task<std::error_code> {
        const bytes few(10);
        auto sent = co_await send_all(over, few);
        co_return sent ? std::error_code() : sent.failure().code();
    };
    CHECK(run(with.loop, send(with.one())) == error::peer_died);
}

TEST_CASE("a wait that is cancelled closes the link, because half a conversation is of no use") {
    two_ends with;
    const auto wait = [](tutti::link& over) -> task<std::error_code> {
        bytes in(10);
        const auto receive = [](tutti::link& from, bytes& into) -> task<> { (co_await recv_all(from, into)).value(); };
        try {
            co_await with_deadline(receive(over, in), std::chrono::seconds(1));
        } catch (const failure& why) {
            co_return why.code();
        }
        co_return std::error_code();
    };
    CHECK(run(with.loop, wait(with.one())) == error::timed_out);
    std::byte one{};
    const std::span<std::byte> part(&one, 1);
    CHECK(with.other().try_recv(std::span(&part, 1)).code == error::peer_died);
}

TEST_CASE("a sender that waits for room is cancelled like a receiver") {
    two_ends with(10);
    const auto wait = [](tutti::link& over) -> task<std::error_code> {
        const bytes out(1000);
        const auto send = [](tutti::link& to, const bytes& from) -> task<> { (co_await send_all(to, from)).value(); };
        try {
            co_await with_deadline(send(over, out), std::chrono::seconds(1));
        } catch (const failure& why) {
            co_return why.code();
        }
        co_return std::error_code();
    };
    CHECK(run(with.loop, wait(with.one())) == error::timed_out);
    bytes in(10);
    run(with.loop, recv_well(with.other(), in));  // what was sent still arrives
}
