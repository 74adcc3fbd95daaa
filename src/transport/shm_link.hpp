// A link through memory that two processes share. A local socket beside it hands over the memory, wakes a sleeper, and tells of the death
// of the other process. The lane that owns a link uses it on its loop; the link owns the mapping, the socket and its end of both rings.
#pragma once

#include "transport/arena.hpp"
#include "transport/local_socket.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// Makes the link of the side that connected: it makes the memory and sends it to the peer. Memory of the arena `mine` can be lent.
result<std::unique_ptr<link>> open_shm_link(event_loop& loop, file_descriptor connected, std::string peer, std::shared_ptr<arena> mine);
/// Makes the link of the side that accepted: it works as soon as the memory has come. Null when the peer belongs to another user.
std::unique_ptr<link> accept_shm_link(event_loop& loop, local_protocol::socket accepted, std::shared_ptr<arena> mine);

}  // namespace tutti
