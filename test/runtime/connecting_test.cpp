#include "runtime/connecting.hpp"

#include <doctest/doctest.h>

#include <poll.h>

using namespace tutti;

namespace {

using tcp = asio::ip::tcp;

void wait_until_writable(tcp::socket& socket) {
    pollfd one{socket.native_handle(), POLLOUT, 0};
    REQUIRE(::poll(&one, 1, 5000) == 1);
}

}  // namespace

TEST_CASE("a socket that has met itself was refused, and its port is free for a rank that wants to listen there") {
    asio::io_context context;
    tcp::socket lonely(context);
    REQUIRE(!open_to_connect(lonely, tcp::v4()));
    lonely.bind({asio::ip::address_v4::loopback(), 0});
    const tcp::endpoint itself = lonely.local_endpoint();
    REQUIRE(!start_to_connect(lonely, itself));
    wait_until_writable(lonely);
    for (const bool ended : {false, true}) {
        CAPTURE(ended);
        tcp::acceptor rank_0(context);
        REQUIRE(!open_unshared(rank_0, tcp::v4()));
        rank_0.set_option(tcp::acceptor::reuse_address(true));
        boost::system::error_code error;
        rank_0.bind(itself, error);
        CHECK(!error);
        if (!error) rank_0.listen(1, error);
        CHECK(!error);
        if (ended) break;
        CHECK(end_of_connect(lonely) == asio::error::connection_refused);
        lonely.close();
    }
}

TEST_CASE("an address that is local to a link gets the zone of this host, every other one stays as it is") {
    boost::system::error_code error;
    CHECK(zone_of(number_of("fe80::1%eth0", 7, error)) == 7);
    CHECK(zone_of(number_of("fe80::1", 7, error)) == 7);
    CHECK(zone_of(number_of("fe80::1%3", 0, error)) == 3);
    for (const char* other : {"10.0.0.1", "fd77::1", "::1"}) {
        CHECK(number_of(other, 7, error) == asio::ip::make_address(other));
        CHECK(zone_of(number_of(other, 7, error)) == 0);
    }
    CHECK(!error);
    number_of("node0", 7, error);
    CHECK(error);
}

TEST_CASE("an address of IPv4 that came by a socket of IPv6 is one of IPv4") {
    CHECK(plain(asio::ip::make_address("::ffff:10.0.0.1")).to_string() == "10.0.0.1");
    CHECK(plain(asio::ip::make_address("fd77::1")).to_string() == "fd77::1");
}
