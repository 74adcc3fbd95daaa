// One attempt to connect to one address.
#pragma once

#include "runtime/asio.hpp"

#include <tutti/result.hpp>
#include <tutti/task.hpp>

#include <string>

namespace tutti {

/// error::timed_out at the deadline, error::invalid_argument where further attempts would end in the same way, a code of out_of_descriptors,
/// else error::system.
task<result<asio::ip::tcp::socket>> dial(asio::ip::tcp::endpoint where, time_point deadline);

/// The address of this host that a connection has, as a number; empty when it has ended.
std::string local_address_of(const asio::ip::tcp::socket& socket);

}  // namespace tutti
