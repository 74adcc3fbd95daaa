// A link over a connected TCP socket.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include "transport/frame.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace tutti {

/// Returns whether both ends of a connection are on one host, by their addresses.
bool on_same_host(const asio::ip::address& mine, const asio::ip::address& theirs);

/// Takes over a connected socket and sets its options. Between hosts the socket gets `usual_congestion_control` back; for use within a host
/// another one was chosen before it connected (congestion_control.hpp).
std::unique_ptr<link> make_tcp_link(event_loop& loop, asio::ip::tcp::socket socket, const std::string& usual_congestion_control);

}  // namespace tutti
