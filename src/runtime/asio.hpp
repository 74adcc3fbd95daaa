// The only internal header through which Asio's names come.
// Asio is used header-only: its functions stay inside the library, so a program may have an Asio of its own.
#pragma once

#include <tutti/asio.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

namespace [[gnu::visibility("default")]] tutti {
class event_loop;
}  // namespace tutti

namespace tutti {

namespace asio = boost::asio;

/// Returns the io_context of the library's sockets and timers. Handlers run in turns of the loop. A handler that is posted to it directly
/// does not wake a guest.
asio::io_context& io_of(event_loop& loop);
/// Asks a guest's host for a turn, after an operation was begun on that io_context outside of a turn. Nothing on other loops.
void look_again(event_loop& loop);

}  // namespace tutti
