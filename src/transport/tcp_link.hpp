// A link over a connected TCP socket.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// Takes over a connected socket and sets its options.
std::unique_ptr<link> make_tcp_link(event_loop& loop, asio::ip::tcp::socket socket);

}  // namespace tutti
