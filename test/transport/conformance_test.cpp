// The promises of every link and every transport, for each of them.
#include "pump.hpp"
#include "stage.hpp"
#include "support/descriptors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace tutti::test {
namespace {

struct kind {
    const char* name;
    std::unique_ptr<stage> (*make)();
};

template <class Stage>
std::unique_ptr<stage> make_stage() {
    return std::make_unique<Stage>();
}

constexpr kind kinds[] = {{"memory", make_stage<memory_stage>},
                          {"simulated", make_stage<simulated_stage>},
                          {"tcp", make_stage<tcp_stage>},
                          {"shm", make_stage<shm_stage>},
                          {"host", make_stage<host_stage>},
                          {"shared", make_stage<shared_stage>}};

/// Runs `body` once for every kind of transport.
void on_every_kind(const std::function<void(stage&)>& body) {
    for (const auto& kind : kinds) {
        const std::string name = kind.name;
        CAPTURE(name);
        const auto on = kind.make();
        body(*on);
    }
}

/// Something to wait for: `count` calls.
class countdown {
public:
    countdown(event_loop& loop, int count) : loop_(loop), left_(count) {}
    std::function<void()> one() {
        return [this] {
            if (--left_ == 0 && loop_.here()) loop_.stop();
        };
    }
    /// Runs the loop until then.
    void wait() {
        if (left_ > 0) loop_.run();
        REQUIRE(left_ == 0);
    }

private:
    event_loop& loop_;
    int left_;
};

moved send_some(link& over, const bytes& what) {
    const std::span<const std::byte> parts[] = {what};
    return over.try_send(parts);
}

/// `over` brings what was sent, then the end of the stream.
void check_last(stage& on, link& over, const bytes& sent) {
    countdown receiver{on.loop(), 1};
    pump last{over, {}, sent.size() + 1, receiver.one()};
    last.start_receiving();
    receiver.wait();
    CHECK(last.received_bytes() == sent.size());
    CHECK(std::equal(sent.begin(), sent.end(), last.received().begin()));
    CHECK(last.recv_code() == error::peer_died);
}

/// Moves some bytes over another link, so that everything the loop already had to do is done.
void let_pass(stage& on) {
    connected pair{on};
    countdown ends{on.loop(), 2};
    pump one{*pair.ends.one, random_bytes(1000, 5), 1000, ends.one()};
    pump other{*pair.ends.other, random_bytes(1000, 6), 1000, ends.one()};
    one.start();
    other.start();
    ends.wait();
}

class counting final : public detail::runnable {
public:
    void run() noexcept override { ++runs; }
    int runs = 0;
};

}  // namespace

TEST_CASE("no program that a process starts inherits what its links are made of") {
    const std::set<int> before = open_descriptors();
    on_every_kind([&before](stage& on) {
        connected pair{on};
        let_pass(on);
        CHECK(inherited_since(before).empty());
    });
}

TEST_CASE("both directions of a link carry any number of bytes at once, unchanged and in order") {
    on_every_kind([](stage& on) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{65'537}, 8 * MiB}) {
            CAPTURE(size);
            connected pair{on};
            const auto there = random_bytes(size, 1);
            const auto back = random_bytes(size, 2);
            countdown ends{on.loop(), 2};
            pump one{*pair.ends.one, there, back.size(), ends.one()};
            pump other{*pair.ends.other, back, there.size(), ends.one()};
            one.start();
            other.start();
            ends.wait();
            CHECK(one.received() == back);
            CHECK(other.received() == there);
            CHECK(!one.send_code());
            CHECK(!one.recv_code());
        }
    });
}

TEST_CASE("a sender has to wait when nobody receives, and goes on when somebody does") {
    on_every_kind([](stage& on) {
        connected pair{on};
        const auto sent = random_bytes(on.too_much(), 3);
        countdown ends{on.loop(), 2};
        pump one{*pair.ends.one, sent, 0, ends.one()};
        pump other{*pair.ends.other, {}, sent.size(), ends.one()};
        one.start_sending();
        CHECK(one.waits() == 1);
        CHECK(one.sent_bytes() > 0);
        CHECK(one.sent_bytes() < sent.size());
        other.start_receiving();
        ends.wait();
        CHECK(other.received() == sent);
    });
}

TEST_CASE("what was sent before close arrives, then the stream ends with peer_died, and stays ended") {
    on_every_kind([](stage& on) {
        connected pair{on};
        const auto sent = random_bytes(900, 7);
        countdown sender{on.loop(), 1};
        pump one{*pair.ends.one, sent, 0, sender.one()};
        one.start_sending();
        sender.wait();
        pair.ends.one->close();
        check_last(on, *pair.ends.other, sent);

        std::byte place[1];
        const std::span<std::byte> parts[] = {place};
        CHECK(pair.ends.other->try_recv(parts).code == error::peer_died);
    });
}

TEST_CASE("a link that is destroyed while its own input waits unread still delivers what it sent") {
    on_every_kind([](stage& on) {
        connected pair{on};
        const auto sent = random_bytes(900, 8);
        countdown sender{on.loop(), 2};
        pump unread{*pair.ends.other, random_bytes(500, 9), 0, sender.one()};
        unread.start_sending();
        pump one{*pair.ends.one, sent, 0, sender.one()};
        one.start_sending();
        sender.wait();
        let_pass(on);
        pair.ends.one.reset();
        let_pass(on);
        check_last(on, *pair.ends.other, sent);
    });
}

TEST_CASE("sending to a peer that has closed fails, and wakes who waits to send") {
    on_every_kind([](stage& on) {
        connected pair{on};
        countdown ends{on.loop(), 1};
        pump one{*pair.ends.one, random_bytes(on.too_much(), 10), 0, ends.one()};
        one.start_sending();
        REQUIRE(one.waits() == 1);
        pair.ends.other->close();
        ends.wait();
        CHECK(one.send_code());
        CHECK(send_some(*pair.ends.one, bytes(1)).code == one.send_code());
    });
}

TEST_CASE("a closed link calls no watcher, not even one that is due, and moves nothing") {
    on_every_kind([](stage& on) {
        connected pair{on};
        counting readable;
        counting writable;
        pair.ends.one->when_readable(readable);
        pair.ends.one->when_writable(writable);
        CHECK(send_some(*pair.ends.other, bytes(10)).bytes > 0);
        pair.ends.one->close();
        let_pass(on);
        CHECK(readable.runs == 0);
        CHECK(writable.runs == 0);
        CHECK(send_some(*pair.ends.one, bytes(10)).code == error::closed);
        pair.ends.one->when_readable(readable);
        pair.ends.one->when_writable(writable);
        pair.ends.one->close();
        let_pass(on);
        CHECK(readable.runs + writable.runs == 0);
    });
}

TEST_CASE("a watcher is called from the loop, never from within when_readable or when_writable, and once") {
    on_every_kind([](stage& on) {
        connected pair{on};
        counting writable;
        pair.ends.one->when_writable(writable);
        CHECK(writable.runs == 0);
        let_pass(on);
        CHECK(writable.runs == 1);
        counting readable;
        CHECK(send_some(*pair.ends.one, bytes(10)).bytes > 0);
        let_pass(on);
        pair.ends.other->when_readable(readable);
        CHECK(readable.runs == 0);
        let_pass(on);
        CHECK(readable.runs == 1);
        let_pass(on);
        CHECK(readable.runs == 1);
    });
}

TEST_CASE("no bytes to move is not the end of the stream") {
    on_every_kind([](stage& on) {
        connected pair{on};
        const std::span<std::byte> none[] = {{}, {}};
        CHECK(send_some(*pair.ends.other, bytes(1)).bytes == 1);
        let_pass(on);
        CHECK(pair.ends.one->try_recv(none).bytes == 0);
        CHECK(!pair.ends.one->try_recv(none).code);
        CHECK(!pair.ends.one->try_recv({}).code);
        CHECK(send_some(*pair.ends.one, {}).bytes == 0);
        CHECK(!send_some(*pair.ends.one, {}).code);
    });
}

TEST_CASE("many links of a transport are independent") {
    on_every_kind([](stage& on) {
        constexpr int count = 40;
        const auto client = on.make();
        const auto server = on.make();
        countdown ends{on.loop(), 2 * count};
        std::vector<link_pair> links;
        std::vector<std::unique_ptr<pump>> pumps;
        for (int i = 0; i < count; ++i) links.push_back(run(on.loop(), open(on.loop(), *client, *server)));
        for (auto& pair : links) {
            const auto seed = pumps.size();
            pumps.push_back(std::make_unique<pump>(*pair.one, random_bytes(20'000, seed), 20'000, ends.one()));
            pumps.push_back(std::make_unique<pump>(*pair.other, random_bytes(20'000, seed + 1), 20'000, ends.one()));
        }
        for (auto& one : pumps) one->start();
        ends.wait();
        for (std::size_t i = 0; i < pumps.size(); i += 2) {
            CHECK(pumps[i + 1]->received() == random_bytes(20'000, i));
            CHECK(pumps[i]->received() == random_bytes(20'000, i + 1));
        }
    });
}

TEST_CASE("a link names its peer") {
    on_every_kind([](stage& on) {
        connected pair{on};
        CHECK(pair.server->address().ends_with(pair.ends.one->peer()));  // of several addresses the last
        CHECK_FALSE(pair.ends.other->peer().empty());
    });
}

TEST_CASE("connecting to where nobody listens ends at the deadline and tells the address, the attempts and the reason") {
    on_every_kind([](stage& on) {
        const auto client = on.make();
        auto server = on.make();
        const auto address = server->address();
        server.reset();
        const auto begin = on.loop().now();
        const auto deadline = begin + std::chrono::milliseconds{300};
        const auto nothing = run(on.loop(), client->connect(address, deadline));
        REQUIRE(!nothing);
        const auto& why = nothing.failure();
        const std::string text = why.what();
        CAPTURE(text);
        CHECK(why.code() == error::refused);
        CHECK(!why.details().address.empty());
        CHECK(address.starts_with(why.details().address));  // of several addresses the first
        CHECK(text.find(why.details().address) != std::string::npos);
        CHECK(text.find(" attempts") != std::string::npos);
        CHECK(text.find(" 0 attempts") == std::string::npos);
        CHECK(on.loop().now() >= deadline);
    });
}

TEST_CASE("a closed transport neither accepts nor connects, and nobody reaches it") {
    on_every_kind([](stage& on) {
        const auto client = on.make();
        const auto server = on.make();
        const auto soon = on.loop().now() + std::chrono::milliseconds{300};
        server->close();
        CHECK(run(on.loop(), server->accept()).failure().code() == error::closed);
        CHECK(run(on.loop(), server->connect(client->address(), soon)).failure().code() == error::closed);
        CHECK(run(on.loop(), client->connect(server->address(), soon)).failure().code() == error::refused);
    });
}

TEST_CASE("closing a transport ends the accept and the connects that wait") {
    on_every_kind([](stage& on) {
        const auto client = on.make();
        auto nobody = on.make();
        const auto address = nobody->address();
        nobody.reset();
        {
            const later closing{on.loop(), std::chrono::milliseconds{20}, [&] { client->close(); }};
            CHECK(run(on.loop(), client->connect(address, on.loop().now() + std::chrono::hours{1})).failure().code() == error::closed);
        }
        const auto server = on.make();
        const later closing{on.loop(), std::chrono::milliseconds{20}, [&] { server->close(); }};
        CHECK(run(on.loop(), server->accept()).failure().code() == error::closed);
    });
}

TEST_CASE("cancelling ends an accept and a connect with error::cancelled, and the transport can go on") {
    on_every_kind([](stage& on) {
        const auto server = on.make();
        const auto client = on.make();
        auto nobody = on.make();
        const auto address = nobody->address();
        nobody.reset();
        const auto cancelled = [&](task<result<std::unique_ptr<link>>> what) {
            cancel_source source{on.loop()};
            background waiting{on.loop(), std::move(what), source.token()};
            let_pass(on);
            CHECK_FALSE(waiting.ended());
            source.request();
            let_pass(on);
            REQUIRE(waiting.ended());
            return waiting.take().failure().code();
        };
        CHECK(cancelled(server->accept()) == error::cancelled);
        CHECK(cancelled(client->connect(address, no_deadline)) == error::cancelled);
        const auto pair = run(on.loop(), open(on.loop(), *client, *server));
        CHECK(pair.other != nullptr);
    });
}

TEST_CASE("an accept that waits gets the link that is opened later") {
    on_every_kind([](stage& on) {
        const auto server = on.make();
        const auto client = on.make();
        background accepting{on.loop(), server->accept()};
        let_pass(on);
        CHECK_FALSE(accepting.ended());
        const auto mine = run(on.loop(), client->connect(server->address(), on.loop().now() + std::chrono::seconds{5}));
        CHECK(mine);
        for (int turns = 0; turns < 1000 && !accepting.ended(); ++turns) let_pass(on);
        REQUIRE(accepting.ended());
        CHECK(accepting.take());
    });
}

}  // namespace tutti::test
