// The first exchange on a link, as coroutines of both sides: open_link and greet for the rank that dials (group::open), hear_hello and
// send_reply for the rank that accepts (link_acceptor).
#pragma once

#include "handshake/hello.hpp"

#include <tutti/task.hpp>
#include <tutti/transport.hpp>

#include <memory>

namespace tutti {

/// Connects until `connected`, sends `who` and waits for a welcome until `answered`. Returns null when the peer answers `crossed`: the link
/// that the peer has opened arrives, or has arrived. A failure names both ranks and the address. There are two limits because the kernel
/// accepts a connection for a busy peer at once, while the peer needs a turn of its loop to answer.
task<result<std::unique_ptr<link>>> open_link(transport& network, std::string address, hello who, time_point connected,
                                              time_point answered);
inline task<result<std::unique_ptr<link>>> open_link(transport& network, std::string address, hello who, time_point deadline) {
    return open_link(network, std::move(address), std::move(who), deadline, deadline);
}

/// Does the same over a link, or a stream of a multiplexed link, that is there already. If the peer answers `stream`, because it has few
/// descriptors left, the code is std::errc::too_many_files_open.
task<result<std::unique_ptr<link>>> greet(std::unique_ptr<link> over, std::string address, hello who, time_point answered);
/// Returns the failure of both, for that reason.
failure not_opened(const hello& who, const std::string& address, const failure& reason);

/// Returns the hello of the rank that opened `over`. Fails with error::unsupported, in words for that rank, if it has another version, and
/// with error::protocol_error for bytes that are no hello.
task<result<hello>> hear_hello(link& over);
task<result<>> send_reply(link& over, reply what);

}  // namespace tutti
