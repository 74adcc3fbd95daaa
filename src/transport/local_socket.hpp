// What connects two processes of one host before they share memory, and tells each of the other's end: Unix sockets with names that are
// in no file system, so that nothing is left of them.
#pragma once

#include "runtime/asio.hpp"
#include "transport/shared_memory.hpp"

#include <tutti/result.hpp>

#include <string>
#include <string_view>

namespace tutti {

using local_protocol = asio::local::stream_protocol;

/// Processes with the same identity can reach each other's local sockets: same boot, same network namespace. It stands for one host, and has
/// no spaces. With another number than 0 it is one of several hosts that are played on this one.
result<std::string> host_identity(int played = 0);

/// Listens without blocking at a name that nobody can guess, which is written to `name`.
result<file_descriptor> listen_locally(std::string& name);
/// Without blocking. error::refused when nobody listens, or somebody of another user.
result<file_descriptor> connect_locally(std::string_view name);
/// Whether both ends belong to one user.
bool same_user(int handle) noexcept;
/// The process at the other end; 0 when unknown.
int process_at(int handle) noexcept;

/// Whether the other end has been closed; a process that ended has closed it.
bool hung_up(int handle) noexcept;

/// Whether the process at the other end is known to have ended, though a child of it may still hold that end. Several system calls.
bool process_gone(int handle) noexcept;

/// The same socket, on a loop.
result<local_protocol::socket> local_socket(event_loop& loop, file_descriptor from);

/// One byte, with a file or without. False when it cannot be sent now or ever.
bool send_byte(int handle, char what, const file_descriptor* with = nullptr) noexcept;

/// The same with a file that has to arrive. std::errc::resource_unavailable_try_again where too many are on their way.
result<> hand_over(int handle, char what, const file_descriptor& file);

/// What has come, at most one file with it.
struct local_news {
    std::size_t bytes = 0;
    file_descriptor file;
    std::error_code code;  // peer_died at the end; too_many_files_open when a file came that this process could not take
};
local_news hear_news(int handle) noexcept;

}  // namespace tutti
