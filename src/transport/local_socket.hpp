// Unix sockets that connect two processes of one host before they share memory, and tell each of the other's end. Their names are in no
// file system, so a crash leaves nothing behind.
#pragma once

#include "runtime/asio.hpp"
#include "transport/shared_memory.hpp"

#include <tutti/result.hpp>

#include <string>
#include <string_view>

namespace tutti {

using local_protocol = asio::local::stream_protocol;

/// Returns the identity of this host, without spaces. Processes with the same one, that is the same boot and network namespace, can reach
/// each other's local sockets. `played`, if not 0, is one of several hosts that are simulated on this one.
result<std::string> host_identity(int played = 0);

/// Makes a non-blocking socket that listens at a random name, which is written to `name`.
result<file_descriptor> listen_locally(std::string& name);
/// Connects without blocking. error::refused when no process listens, or one of another user.
result<file_descriptor> connect_locally(std::string_view name);
/// Returns whether both ends belong to one user.
bool same_user(int handle) noexcept;
/// Returns the process at the other end; 0 when unknown.
int process_at(int handle) noexcept;

/// Returns whether the other end has been closed; the end of a process closes it.
bool hung_up(int handle) noexcept;

/// Returns whether the process at the other end is known to have ended, though a child of it may still hold that end. Several system calls.
bool process_gone(int handle) noexcept;

/// Puts a socket on a loop.
result<local_protocol::socket> local_socket(event_loop& loop, file_descriptor from);

/// Sends one byte, with a file or without. Returns false when it cannot be sent at once.
bool send_byte(int handle, char what, const file_descriptor* with = nullptr) noexcept;

/// Sends a byte with a file that has to arrive. std::errc::resource_unavailable_try_again when too many files are on their way.
result<> hand_over(int handle, char what, const file_descriptor& file);

/// The bytes that have come, and at most one file with them.
struct local_news {
    std::size_t bytes = 0;
    file_descriptor file;
    std::error_code code;  // peer_died at the end; too_many_files_open when a file came that this process could not take
};
local_news hear_news(int handle) noexcept;

}  // namespace tutti
