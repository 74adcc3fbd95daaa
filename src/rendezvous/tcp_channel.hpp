// A rank's way to the store that rank 0 keeps.
#pragma once

#include "rendezvous/channel.hpp"
#include "rendezvous/name_service.hpp"
#include "rendezvous/protocol.hpp"

namespace tutti {

/// Time limits of one connect retry.
struct store_patience {
    duration connect;  // to one address
    duration answer;   // to the hello, once connected
};
extern const store_patience usual_patience;

/// Connects and says hello, again and again until the deadline: the server may not be there yet, or the port may still belong to
/// something else. Each time `host` is looked up anew, and all its addresses are tried in turn. error::rendezvous_timeout at the deadline,
/// with the last obstacles; error::refused when the server does not want us; error::bad_launch when there can be no way.
task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, protocol::hello who,
                                                             time_point deadline);
task<result<std::unique_ptr<request_channel>>> connect_store(std::string host, std::uint16_t port, protocol::hello who, time_point deadline,
                                                             name_service& names, store_patience each);

}  // namespace tutti
