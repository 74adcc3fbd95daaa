// Whether an io_context has something to do, as a descriptor that another loop can watch.
#pragma once

#include "runtime/asio.hpp"

namespace tutti::detail {

/// Readable when a socket or a timer of `io` is ready: its epoll descriptor, which stays its own. It tells nothing of handlers that were posted,
/// nor of operations that end at once.
/// Throws error::system when it cannot be made.
int readiness_of(asio::io_context& io);

}  // namespace tutti::detail
