// A link as a coroutine sees it, for the few bytes before frames begin.
#pragma once

#include <tutti/task.hpp>
#include <tutti/transport.hpp>

#include <span>

namespace tutti {

/// All of `bytes`, or why not. A wait that is cancelled closes the link.
task<result<>> send_all(link& over, std::span<const std::byte> bytes);
task<result<>> recv_all(link& over, std::span<std::byte> bytes);

}  // namespace tutti
