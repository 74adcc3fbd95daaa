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

/// A payload of a multiple of this, with its frame's header, fills as many packets of the loopback interface. These have 65,535 bytes, of
/// which 52 (IPv4) or 72 (IPv6) are headers. A power of two needs one packet more for its last few bytes, and the peer waits for that. A
/// multiple of a cache line, too.
inline constexpr std::size_t loopback_packet_bytes = (65'535 - 72 - frame_bytes) / 64 * 64;

/// Returns whether both ends of a connection are on one host, by their addresses.
bool on_same_host(const asio::ip::address& mine, const asio::ip::address& theirs);

/// Takes over a connected socket and sets its options. Between hosts the socket gets `usual_congestion_control` back; for use within a host
/// another one was chosen before it connected (congestion_control.hpp).
std::unique_ptr<link> make_tcp_link(event_loop& loop, asio::ip::tcp::socket socket, const std::string& usual_congestion_control);

}  // namespace tutti
