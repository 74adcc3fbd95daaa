#include "transport/tcp_transport.hpp"

#include "stage.hpp"
#include "support/descriptors.hpp"
#include "support/sanitizers.hpp"
#include "transport/congestion_control.hpp"

#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::test {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

std::unique_ptr<tcp_transport> listen_on(event_loop& loop, const std::string& host, std::uint16_t port = 0) {
    tcp_options options{host};
    options.port = port;
    return std::move(tcp_transport::listen(loop, options)).value();
}

std::uint16_t port_of(const transport& where) {
    const auto address = where.address();
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

duration cpu_time() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

/// This process's IPv4 sockets at this port: who listens there, and both ends of every connection.
std::vector<int> sockets_at(std::uint16_t port) {
    std::vector<int> found;
    for (int handle = 0; handle < 1024; ++handle)
        for (const auto name : {&::getsockname, &::getpeername}) {
            sockaddr_in address{};
            socklen_t size = sizeof address;
            if (name(handle, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sin_family != AF_INET ||
                ntohs(address.sin_port) != port)
                continue;
            found.push_back(handle);
            break;
        }
    return found;
}

/// This process's TCP sockets that are about to connect.
std::vector<int> connecting_sockets() {
    std::vector<int> found;
    for (int handle = 0; handle < 1024; ++handle) {
        tcp_info info{};
        socklen_t size = sizeof info;
        if (::getsockopt(handle, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_SYN_SENT) found.push_back(handle);
    }
    return found;
}

/// Returns what a socket has after it was chosen for within a host.
std::string host_congestion_control() {
    asio::io_context unused;
    tcp::socket fresh(unused, tcp::v4());
    return choose_host_congestion_control(fresh.native_handle());
}

}  // namespace

TEST_CASE("who listens and both ends of a link within a host have a congestion control for that") {
    event_loop loop;
    const auto one = listen_on(loop, "127.0.0.1"), other = listen_on(loop, "127.0.0.1");
    const auto ends = run(loop, open(loop, *one, *other));
    const auto sockets = sockets_at(port_of(*other));
    CHECK(sockets.size() == 3);
    for (const int each : sockets) CHECK(congestion_control_of(each) == host_congestion_control());
}

TEST_CASE("a transport on port 0 tells the port it got, and an IPv6 address stands in brackets") {
    event_loop loop;
    const auto four = listen_on(loop, "127.0.0.1");
    CHECK(four->address().starts_with("127.0.0.1:"));
    CHECK(port_of(*four) != 0);
    auto six = tcp_transport::listen(loop, tcp_options{"::1"});
    if (!six) {
        MESSAGE("this host has no IPv6");
        return;
    }
    const auto address = (*six)->address();
    CHECK(address.starts_with("[::1]:"));
    CHECK_FALSE(address.ends_with(":0"));
}

TEST_CASE("ranks reach each other over IPv6") {
    event_loop loop;
    auto server = tcp_transport::listen(loop, tcp_options{"::1"});
    if (!server) return;
    const auto client = listen_on(loop, "127.0.0.1");
    const auto ends = run(loop, open(loop, *client, **server));
    CHECK(ends.one->peer() == (*server)->address());
    CHECK(ends.other->peer().starts_with("[::1]:"));
}

TEST_CASE("a host is looked up by its name") {
    event_loop loop;
    const auto server = listen_on(loop, "127.0.0.1");
    const auto client = listen_on(loop, "127.0.0.1");
    const auto address = "localhost:" + std::to_string(port_of(*server));
    CHECK(run(loop, client->connect(address, loop.now() + std::chrono::seconds{5})));
    // A rank that also has shared memory says so behind its address.
    CHECK(run(loop, client->connect(server->address() + " shm5:host/name", loop.now() + std::chrono::seconds{5})));
    const std::string nobody = std::string(64, 'x') + ":80";  // longer than a part of a name may be, so no resolver is asked
    const auto nothing = run(loop, client->connect(nobody, loop.now() + milliseconds{100}));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.failure().code() == error::timed_out);
    CHECK(std::string(nothing.failure().what()).find(nobody) != std::string::npos);
}

TEST_CASE("an address that is none is refused at once") {
    event_loop loop;
    const auto client = listen_on(loop, "127.0.0.1");
    for (const std::string address : {"", "host", "host:", ":80", "host:0", "host:65536", "host:-1", "host:8x", "::1:80", "[::1]"}) {
        CAPTURE(address);
        CHECK(run(loop, client->connect(address, no_deadline)).failure().code() == error::invalid_argument);
    }
}

TEST_CASE("listening fails with invalid_argument for what is no address, with system for what cannot be had") {
    event_loop loop;
    CHECK(tcp_transport::listen(loop, tcp_options{"nonsense"}).failure().code() == error::invalid_argument);
    CHECK(tcp_transport::listen(loop, tcp_options{"203.0.113.1"}).failure().code() == error::system);
    const auto first = listen_on(loop, "127.0.0.1");
    tcp_options taken;
    taken.port = port_of(*first);
    const auto second = tcp_transport::listen(loop, taken);
    REQUIRE_FALSE(second);
    CHECK(second.failure().code() == error::system);
    CHECK(std::string(second.failure().what()).find(first->address()) != std::string::npos);
}

TEST_CASE("a rank may connect before the other one listens") {
    event_loop loop;
    const auto client = listen_on(loop, "127.0.0.1");
    asio::io_context unused;
    tcp::acceptor place(unused, tcp::v4());  // no other socket gets its port
    place.set_option(tcp::acceptor::reuse_address(true));
    place.bind({asio::ip::address_v4::loopback(), 0});
    const auto port = place.local_endpoint().port();
    std::unique_ptr<tcp_transport> server;
    const later start{loop, milliseconds{60}, [&] { server = listen_on(loop, "127.0.0.1", port); }};
    CHECK(run(loop, client->connect("127.0.0.1:" + std::to_string(port), loop.now() + std::chrono::seconds{10})));
    CHECK(run(loop, server->accept()));
}

TEST_CASE("the reason why nobody is reached is the system's") {
    event_loop loop;
    const auto client = listen_on(loop, "127.0.0.1");
    const auto nothing = run(loop, client->connect("127.0.0.1:1", loop.now() + milliseconds{500}));
    REQUIRE_FALSE(nothing);
    const std::string text = nothing.failure().what();
    CAPTURE(text);
    CHECK(text.find("Connection refused") != std::string::npos);
}

TEST_CASE("a connect to a host that does not answer ends at the deadline") {
    event_loop loop;
    const auto client = listen_on(loop, "127.0.0.1");
    // A listener whose queue is full answers no one: the kernel drops what comes.
    asio::io_context others;
    tcp::acceptor deaf(others, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    deaf.listen(0);
    std::vector<tcp::socket> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.emplace_back(others, tcp::v4());
        waiting.back().non_blocking(true);
        const auto where = deaf.local_endpoint();
        CHECK(::connect(waiting.back().native_handle(), where.data(), static_cast<socklen_t>(where.size())) == -1);
    }
    const auto address = "127.0.0.1:" + std::to_string(deaf.local_endpoint().port());
    const auto deadline = loop.now() + milliseconds{100};
    // An algorithm that does not pace has to be chosen before the first packet.
    std::size_t connecting = 0;
    const auto look = [&] {
        for (const int each : connecting_sockets()) {
            if (std::any_of(waiting.begin(), waiting.end(), [each](auto& other) { return other.native_handle() == each; })) continue;
            ++connecting;
            CHECK(congestion_control_of(each) == host_congestion_control());
        }
    };
    const later early{loop, milliseconds{20}, look}, late{loop, milliseconds{80}, look};
    const auto nothing = run(loop, client->connect(address, deadline));
    CHECK(connecting > 0);
    REQUIRE_FALSE(nothing);
    const std::string text = nothing.failure().what();
    CAPTURE(text);
    CHECK(nothing.failure().code() == error::timed_out);
    CHECK(text.find("no answer") != std::string::npos);
}

TEST_CASE("an accept without a descriptor left waits for one and does not spin" * doctest::skip(test::sanitizer_wants_descriptors)) {
    event_loop loop;
    const auto server = listen_on(loop, "127.0.0.1");
    const auto client = listen_on(loop, "127.0.0.1");
    const auto mine = run(loop, client->connect(server->address(), loop.now() + std::chrono::seconds{5}));
    REQUIRE(mine);
    auto exhausted = std::make_unique<no_descriptors>();
    const auto begin = loop.now();
    const later relief{loop, milliseconds{300}, [&] { exhausted.reset(); }};
    const auto used = cpu_time();
    const auto theirs = run(loop, server->accept());
    CHECK(theirs);
    CHECK(loop.now() - begin >= milliseconds{300});
    CHECK(cpu_time() - used < milliseconds{100});
}

TEST_CASE("an accept without a descriptor left says so when somebody has waited for a second, and a connect at once" * doctest::skip(test::sanitizer_wants_descriptors)) {
    event_loop loop;
    const auto server = listen_on(loop, "127.0.0.1");
    const auto client = listen_on(loop, "127.0.0.1");
    {
        const no_descriptors none;
        const auto begin = loop.now();
        const auto mine = run(loop, client->connect(server->address(), loop.now() + std::chrono::seconds{60}));
        REQUIRE_FALSE(mine);
        CHECK(mine.failure().code() == std::errc::too_many_files_open);
        const auto nobody = run(loop, with_deadline(server->accept(), milliseconds{1300}));
        REQUIRE_FALSE(nobody);
        CHECK(nobody.failure().code() == error::cancelled);
        CHECK(loop.now() - begin < std::chrono::seconds{10});
    }
    const auto mine = run(loop, client->connect(server->address(), loop.now() + std::chrono::seconds{5}));
    REQUIRE(mine);
    const no_descriptors none;
    const auto begin = loop.now();
    const auto theirs = run(loop, server->accept());
    REQUIRE_FALSE(theirs);
    CHECK(theirs.failure().code() == std::errc::too_many_files_open);
    CHECK(loop.now() - begin >= std::chrono::seconds{1});
}

}  // namespace tutti::test
