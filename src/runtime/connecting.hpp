// How a TCP connection to another rank begins, for the store's clients and for the links of the transport.
#pragma once

#include "runtime/asio.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace tutti {

/// The time for one address of a name, so that a silent address does not use up the time of the next.
inline constexpr std::chrono::seconds connect_try_limit{3};

/// Makes a socket that no program inherits, not even one that this process starts at the same moment.
template <class Socket>
boost::system::error_code open_unshared(Socket& socket, const asio::ip::tcp& protocol);

/// Opens `socket` for start_to_connect(). A rank may still listen on the local port that the connection gets.
boost::system::error_code open_to_connect(asio::ip::tcp::socket& socket, const asio::ip::tcp& protocol);
/// Starts to connect without waiting. The socket can be written when that has ended.
boost::system::error_code start_to_connect(asio::ip::tcp::socket& socket, const asio::ip::tcp::endpoint& where);
/// Returns the end of that. A socket can connect to itself, if nothing listens at a port that the system chooses; that counts as refused.
boost::system::error_code end_of_connect(asio::ip::tcp::socket& socket);

/// Returns whether a connect retry would end in the same way: this host cannot send to the address.
bool is_final(const boost::system::error_code& code) noexcept;
/// Returns why a connect failed, in words.
std::string explain(const boost::system::error_code& code, const asio::ip::tcp::endpoint& where);

/// Returns a mapped IPv6 address as the IPv4 address that it is.
asio::ip::address plain(const asio::ip::address& from);
/// Returns the interface of a link-local address; 0 for every other address.
std::uint32_t zone_of(const asio::ip::address& from) noexcept;
/// Reads `host` as a numeric address. The zone of a link-local address is known to its own host only, so a `zone` of this host, if given,
/// replaces it.
asio::ip::address number_of(const std::string& host, std::uint32_t zone, boost::system::error_code& error);

}  // namespace tutti
