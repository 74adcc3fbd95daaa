// Keeps sockets from programs that this process starts: such a program would hold a connection open that this process has left.
#pragma once

#include <fcntl.h>

namespace tutti {

/// For a socket that a library has made. A program that is started before this call inherits it.
inline void close_on_exec(int handle) noexcept { ::fcntl(handle, F_SETFD, FD_CLOEXEC); }

}  // namespace tutti
