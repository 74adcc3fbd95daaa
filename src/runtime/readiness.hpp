// Shows by a descriptor, which another loop can watch, that an io_context has work.
#pragma once

#include "runtime/asio.hpp"

namespace tutti::detail {

/// Returns the epoll descriptor of `io`, which keeps it. It is readable when a socket or a timer is ready. It does not show posted
/// handlers, nor operations that end at once. Throws error::system when it cannot be made.
int readiness_of(asio::io_context& io);

}  // namespace tutti::detail
