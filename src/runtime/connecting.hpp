// How a TCP connection to another rank begins: what the store's clients and the links of the transport have in common.
#pragma once

#include "runtime/asio.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace tutti {

/// For one address of a name. A silent one must not use up the time of the next.
inline constexpr std::chrono::seconds attempt_limit{3};

/// Makes a socket that no program inherits which this process starts, not even one started just now.
template <class Socket>
boost::system::error_code open_unshared(Socket& socket, const asio::ip::tcp& protocol);

/// Opens `socket` for `start_to_connect`. The local port that it will get is still free for a rank that wants to listen there.
boost::system::error_code open_to_connect(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol);
/// Starts to connect without waiting. The socket can be written when that has ended.
boost::system::error_code start_to_connect(asio::ip::tcp::socket& socket, const asio::ip::tcp::endpoint& where);
/// What became of it. A socket that has met itself, as happens where nothing listens at a port of the system's choice, was refused.
boost::system::error_code end_of_connect(asio::ip::tcp::socket& socket);

/// Whether further attempts would end in the same way: it is not an address to which this host can send.
bool is_final(const boost::system::error_code& code) noexcept;
/// Why an attempt failed, in words.
std::string explain(const boost::system::error_code& code, const asio::ip::tcp::endpoint& where);

/// An IPv4 address that looks like one of IPv6 as what it is.
asio::ip::address plain(const asio::ip::address& from);
/// The interface of an address that is local to a link; 0 of every other address.
std::uint32_t zone_of(const asio::ip::address& from) noexcept;
/// The number that `host` is, if it is one. The zone of an address that is local to a link is only known to its own host: with a `zone`
/// of this one that takes its place.
asio::ip::address number_of(const std::string& host, std::uint32_t zone, boost::system::error_code& error);

}  // namespace tutti
