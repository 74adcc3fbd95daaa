// A program's own use of Asio. It knows nothing of Tutti.
#include "tutti_works.hpp"

#include <utility>  // some versions of Asio forget it

#include <boost/asio.hpp>

#include <array>
#include <chrono>

namespace asio = boost::asio;
using asio::ip::tcp;

bool own_asio_works() {
    asio::io_context io;
    int fired = 0;
    const auto count = [&fired](const boost::system::error_code& stopped) { fired += !stopped; };
    asio::steady_timer timer(io, std::chrono::milliseconds(5));
    timer.async_wait(count);
    tcp::acceptor door(io, {asio::ip::address_v4::loopback(), 0});
    tcp::socket inside(io), outside(io);
    door.async_accept(inside, count);
    outside.async_connect(door.local_endpoint(), count);
    std::array<char, 4> sent{}, received{};
    asio::async_write(outside, asio::buffer(sent), [count](boost::system::error_code stopped, std::size_t) { count(stopped); });
    io.run();
    io.restart();
    asio::async_read(inside, asio::buffer(received), [count](boost::system::error_code stopped, std::size_t) { count(stopped); });
    io.run();
    return fired == 5;
}
