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

/// A payload of a multiple of this, with its frame's header, fills as many packets of the loopback interface, which are of 65,535 bytes with 52
/// (IPv4) or 72 (IPv6) of headers. Powers of two do not: the few bytes beyond are a packet of their own, for which the other end waits. It is
/// a multiple of a cache line, too.
inline constexpr std::size_t loopback_packet_bytes = (65'535 - 72 - frame_bytes) / 64 * 64;

/// By the addresses of a connection's two ends.
bool on_same_host(const asio::ip::address& mine, const asio::ip::address& theirs);

/// Takes over a connected socket and sets its options. That it does not pace within a host was seen to before it was connected
/// (congestion_control.hpp); `usual_congestion_control` is what it gets back where the other end is elsewhere.
std::unique_ptr<link> make_tcp_link(event_loop& loop, asio::ip::tcp::socket socket, const std::string& usual_congestion_control);

}  // namespace tutti
