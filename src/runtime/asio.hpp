// The only internal header through which Asio's names come, and the way from an event_loop to the executor its sockets live on.
// Asio is used header-only: its functions stay inline, so a program with an Asio of its own (of the same version) meets no symbol twice.
#pragma once

#include <tutti/event_loop.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>

namespace tutti {

namespace asio = boost::asio;

/// Sockets made on it complete on the loop's thread. In a guest's handlers `event_loop::here()` is false; they may post and start timers.
asio::any_io_executor executor_of(event_loop& loop);
/// Null for a guest.
asio::io_context* io_context_of(event_loop& loop);

}  // namespace tutti
