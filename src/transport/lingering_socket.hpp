// Closes a TCP connection without losing sent bytes. The kernel resets a connection that is closed with unread input, and the reset
// destroys bytes on their way to the peer. So the socket is shut down for sending, and its input is thrown away. It is closed when all
// bytes are acknowledged, the peer has closed, too, or the time is up.
#pragma once

#include "runtime/asio.hpp"

#include <chrono>

namespace tutti {

inline constexpr std::chrono::seconds linger_limit{5};  // then the socket is closed anyway

/// Never blocks. If the loop ends first, the socket is closed with it, after the input so far has been thrown away.
void close_gently(asio::ip::tcp::socket socket) noexcept;

}  // namespace tutti
