// A link over a connected TCP socket.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// By the addresses of a connection's two ends.
bool on_same_host(const asio::ip::address& mine, const asio::ip::address& theirs);

/// Takes over a connected socket and sets its options. That it does not pace within a host was seen to before it was connected
/// (congestion_control.hpp); `usual_congestion_control` is what it gets back where the other end is elsewhere.
std::unique_ptr<link> make_tcp_link(event_loop& loop, asio::ip::tcp::socket socket, const std::string& usual_congestion_control);

}  // namespace tutti
