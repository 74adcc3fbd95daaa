// The first exchange on a link, as coroutines of both sides.
#pragma once

#include "handshake/hello.hpp"

#include <tutti/task.hpp>
#include <tutti/transport.hpp>

#include <memory>

namespace tutti {

/// Opens a link and introduces itself. Null: the other side has opened the same link, and it will arrive or has arrived. Who is busy listens
/// all the same, and may be given more time to answer.
task<result<std::unique_ptr<link>>> open_link(transport& network, std::string address, hello who, time_point connected,
                                              time_point answered);
inline task<result<std::unique_ptr<link>>> open_link(transport& network, std::string address, hello who, time_point deadline) {
    return open_link(network, std::move(address), std::move(who), deadline, deadline);
}

/// What the one who opened `over` says of itself; error::protocol_error when it is none of us.
task<result<hello>> hear_hello(link& over);
task<result<>> send_reply(link& over, reply what);

}  // namespace tutti
