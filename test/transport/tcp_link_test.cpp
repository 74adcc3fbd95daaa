#include "transport/tcp_link.hpp"

#include "pump.hpp"
#include "stage.hpp"
#include "support/allocations.hpp"
#include "transport/tcp_address.hpp"

#include <doctest/doctest.h>

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tutti::test {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

/// A link and, at its other end, a bare blocking socket.
struct bare_peer {
    explicit bare_peer(event_loop& loop) {
        tcp::acceptor acceptor(others, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
        tcp::socket mine(io_of(loop));
        mine.connect(acceptor.local_endpoint());
        handle = mine.native_handle();
        acceptor.accept(theirs);
        over = make_tcp_link(loop, std::move(mine), "");
    }

    asio::io_context others;
    tcp::socket theirs{others};
    int handle = -1;
    std::unique_ptr<link> over;
};

bytes read_to_end(tcp::socket& from) {
    bytes all;
    std::byte place[4096];
    boost::system::error_code code;
    for (;;) {
        const auto count = from.read_some(asio::buffer(place), code);
        all.insert(all.end(), place, place + count);
        if (code) break;
    }
    CHECK(code == asio::error::eof);
    return all;
}

/// As much as the kernel takes without waiting.
bytes fill(link& over) {
    auto sent = random_bytes(16 * MiB, 1);
    std::size_t done = 0;
    for (;;) {
        const std::span<const std::byte> parts[] = {std::span(sent).subspan(done)};
        const auto now = over.try_send(parts);
        REQUIRE(!now.code);
        if (now.bytes == 0) break;
        done += now.bytes;
    }
    REQUIRE(done < sent.size());
    sent.resize(done);
    return sent;
}

int option(int handle, int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    ::getsockopt(handle, level, name, &value, &length);
    return value;
}

void run_for(event_loop& loop, duration length) {
    const later end{loop, length, [&] { loop.stop(); }};
    loop.run();
}

/// Sends a byte there and back, watching each time.
class ping_pong {
public:
    ping_pong(event_loop& loop, link_pair& ends, int rounds) : loop_(loop), ends_(ends), left_(rounds) {}
    void run() {
        ends_.one->when_writable(send_);
        loop_.run();
    }

private:
    void send() noexcept {
        const std::span<const std::byte> out[] = {place_};
        ends_.one->try_send(out);
        ends_.other->when_readable(recv_);
    }
    void recv() noexcept {
        const std::span<std::byte> in[] = {place_};
        ends_.other->try_recv(in);
        if (--left_ == 0) return loop_.stop();
        ends_.one->when_writable(send_);
    }

    event_loop& loop_;
    link_pair& ends_;
    int left_;
    std::byte place_[1] = {};
    detail::callback<&ping_pong::send> send_{*this};
    detail::callback<&ping_pong::recv> recv_{*this};
};

}  // namespace

TEST_CASE("waiting for a socket allocates nothing once it has waited before" * doctest::skip(!test::counts_allocations)) {
    event_loop loop;
    tcp_stage on;
    connected pair{on};
    ping_pong{on.loop(), pair.ends, 10}.run();
    const auto before = allocations();
    ping_pong{on.loop(), pair.ends, 1'000}.run();
    CHECK(allocations() == before);
}

TEST_CASE("ends are on the same host where one is a loopback address or both are the same, be it as IPv4 or as IPv6") {
    struct row {
        const char *mine, *theirs;
        bool same;
    };
    for (const row& each : {row{"127.0.0.1", "127.0.0.1", true}, row{"127.0.0.1", "127.0.0.2", true}, row{"10.0.0.1", "10.0.0.1", true},
                            row{"10.0.0.1", "10.0.0.2", false}, row{"::1", "::1", true}, row{"fd00::1", "fd00::1", true},
                            row{"fd00::1", "fd00::2", false}, row{"::ffff:127.0.0.2", "::ffff:127.0.0.1", true},
                            row{"::ffff:10.0.0.1", "::ffff:10.0.0.1", true}, row{"::ffff:10.0.0.1", "::ffff:10.0.0.2", false}}) {
        CAPTURE(each.mine);
        CAPTURE(each.theirs);
        CHECK(on_same_host(asio::ip::make_address(each.mine), asio::ip::make_address(each.theirs)) == each.same);
    }
}

TEST_CASE("a TCP link sends at once, and notices a vanished host") {
    event_loop loop;
    bare_peer peer{loop};
    CHECK(option(peer.handle, IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(option(peer.handle, SOL_SOCKET, SO_KEEPALIVE) == 1);
}

TEST_CASE("beside other links a TCP link takes little that it cannot send, and knows what has not come") {
    event_loop loop;
    bare_peer alone{loop}, shared{loop};
    CHECK(shared.over->under_way() == 0);
    shared.over->share();
    for (bare_peer* each : {&alone, &shared}) {
        const bytes sent = fill(*each->over);
        int unsent = 0;
        REQUIRE(::ioctl(each->handle, SIOCOUTQNSD, &unsent) == 0);
        CHECK((unsent < static_cast<int>(512 * KiB)) == (each == &shared));
        CHECK(each->over->under_way() >= static_cast<std::size_t>(unsent));
        CHECK(each->over->under_way() <= sent.size());
        each->over->close();
        CHECK(read_to_end(each->theirs) == sent);
    }
}

TEST_CASE("more parts than one system call takes are moved in part, in order") {
    event_loop loop;
    bare_peer peer{loop};
    const auto sent = random_bytes(100, 2);
    std::vector<std::span<const std::byte>> parts;
    for (const auto& one : sent) parts.emplace_back(&one, 1);
    const auto first = peer.over->try_send(parts);
    CHECK(first.bytes == 64);
    const auto second = peer.over->try_send(std::span(parts).subspan(first.bytes));
    CHECK(second.bytes == 36);
    peer.over->close();
    CHECK(read_to_end(peer.theirs) == sent);
}

TEST_CASE("a reset is told as the system's error, again and again") {
    event_loop loop;
    bare_peer peer{loop};
    peer.theirs.set_option(asio::socket_base::linger(true, 0));
    peer.theirs.close();
    pump receiver{*peer.over, {}, 1, [&] { loop.stop(); }};
    const later begin{loop, duration{}, [&] { receiver.start_receiving(); }};
    loop.run();
    CHECK(receiver.recv_code() == std::errc::connection_reset);
    std::byte place[1];
    const std::span<std::byte> in[] = {place};
    CHECK(peer.over->try_recv(in).code == std::errc::connection_reset);
}

TEST_CASE("close loses nothing although the peer is slow and its own bytes are never read") {
    event_loop loop;
    bare_peer peer{loop};
    peer.theirs.non_blocking(true);
    boost::system::error_code full;
    while (!full) peer.theirs.write_some(asio::buffer(random_bytes(64 * KiB, 3)), full);
    run_for(loop, milliseconds{5});
    const auto sent = fill(*peer.over);
    peer.over.reset();
    bytes received;
    peer.theirs.non_blocking(false);
    // The rest of the input comes while the link is closing: it must not end in a reset.
    std::thread reader([&] {
        boost::system::error_code ignored;
        peer.theirs.write_some(asio::buffer(random_bytes(1000, 4)), ignored);
        received = read_to_end(peer.theirs);
        peer.theirs.close();
    });
    run_for(loop, milliseconds{300});
    reader.join();
    CHECK(received == sent);
}

TEST_CASE("a loop that ends while a link is closing ends the link, and what was sent still arrives") {
    std::optional<event_loop> loop{std::in_place};
    bare_peer peer{*loop};
    peer.theirs.write_some(asio::buffer(random_bytes(1000, 5)));
    const auto sent = fill(*peer.over);
    peer.over.reset();
    loop.reset();
    CHECK(read_to_end(peer.theirs) == sent);
}

}  // namespace tutti::test
