// The end of a TCP connection on which nothing sent may be lost. The kernel resets a connection that is closed with unread input, and
// the reset destroys what is still on its way to the peer; so we say that we are done, throw away what comes, and close
// when everything has arrived, the peer is done, too, or the time is up.
#pragma once

#include "runtime/asio.hpp"

#include <chrono>

namespace tutti {

inline constexpr std::chrono::seconds linger_limit{5};

/// Never blocks. If the loop goes first the socket is closed with it, after what has come was thrown away.
void close_gently(asio::ip::tcp::socket socket) noexcept;

}  // namespace tutti
