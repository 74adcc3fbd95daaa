// Sockets that no program which this process starts inherits: it would hold a connection open that this process has left.
#pragma once

#include <fcntl.h>

namespace tutti {

/// For sockets that a library made. Between the two a program may be started.
inline void close_on_exec(int handle) noexcept { ::fcntl(handle, F_SETFD, FD_CLOEXEC); }

}  // namespace tutti
