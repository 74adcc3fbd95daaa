// Sends and receives whole byte strings over a link in coroutines: the handshake, before frames begin.
#pragma once

#include <tutti/task.hpp>
#include <tutti/transport.hpp>

#include <span>

namespace tutti {

/// Move all of `bytes`, or say why not. A cancelled wait closes the link.
task<result<>> send_all(link& over, std::span<const std::byte> bytes);
task<result<>> recv_all(link& over, std::span<std::byte> bytes);

}  // namespace tutti
