// The only internal header through which Asio's names come.
// Asio is used header-only: its functions stay inline, so a program with an Asio of its own (of the same version) meets no symbol twice.
#pragma once

#include <tutti/asio.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tutti {

namespace asio = boost::asio;

/// The loop's own; null for a guest.
asio::io_context* io_context_of(event_loop& loop);

}  // namespace tutti
