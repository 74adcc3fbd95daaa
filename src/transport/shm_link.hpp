// A link through memory that two processes share, with a local socket beside it: by that the memory is handed over, who sleeps is woken,
// and the death of the other process is noticed.
#pragma once

#include "transport/arena.hpp"
#include "transport/local_socket.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// The side that connected: makes the memory and sends it to the other. What lies in `mine`, an arena, can be lent to the other side.
/// `single_copy_from`: as near_link says, where the system does not forbid it.
result<std::unique_ptr<link>> open_shm_link(event_loop& loop, file_descriptor connected, std::string peer, std::shared_ptr<arena> mine,
                                            std::size_t single_copy_from);
/// The side that accepted: the link works as soon as the memory has come. Null when the other side belongs to another user.
std::unique_ptr<link> accept_shm_link(event_loop& loop, local_protocol::socket accepted, std::shared_ptr<arena> mine,
                                      std::size_t single_copy_from);

}  // namespace tutti
