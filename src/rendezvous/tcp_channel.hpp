// A rank's way to the store that rank 0 keeps.
#pragma once

#include "rendezvous/channel.hpp"
#include "rendezvous/protocol.hpp"

namespace tutti {

/// Connects and says hello, again and again until the deadline: the server may not be there yet, or the port may still belong to
/// something else. error::rendezvous_timeout at the deadline, with the last obstacle; error::refused when the server does not want us.
/// `host` is resolved anew each time.
task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, const protocol::hello& who,
                                                             time_point deadline);

}  // namespace tutti
