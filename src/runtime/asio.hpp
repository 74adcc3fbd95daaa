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

namespace tutti {

namespace asio = boost::asio;

class [[gnu::visibility("default")]] event_loop;

/// Where the library's sockets and timers are. What completes there does so in turns of the loop; nobody else's posts wake a guest.
asio::io_context& io_of(event_loop& loop);
/// After something was begun there outside of a turn, of which a guest's host does not know yet.
void look_again(event_loop& loop);

}  // namespace tutti
