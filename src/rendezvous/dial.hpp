// Connects once to one address.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/result.hpp>
#include <tutti/task.hpp>

#include <string>

namespace tutti {

/// Fails with error::timed_out at the deadline, error::invalid_argument if a connect retry would end in the same way, a code of
/// out_of_descriptors, or else error::system.
task<result<asio::ip::tcp::socket>> dial(asio::ip::tcp::endpoint where, time_point deadline);

/// Returns the numeric address of this host on a connection; empty if the connection has ended.
std::string local_address_of(const asio::ip::tcp::socket& socket);

}  // namespace tutti
