// Which congestion control sockets have, and should have.
#pragma once

#include "transport/congestion_control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tutti::test {

inline std::string congestion_control_of(int handle) {
    char name[32] = {};
    socklen_t size = sizeof name - 1;
    ::getsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name, &size);
    return name;
}

/// What a socket has that nobody has chosen for, and what it has that was chosen for within a host.
inline std::string usual_congestion_control() {
    const int fresh = ::socket(AF_INET, SOCK_STREAM, 0);
    const std::string name = congestion_control_of(fresh);
    ::close(fresh);
    return name;
}
inline std::string host_congestion_control() {
    const int fresh = ::socket(AF_INET, SOCK_STREAM, 0);
    const std::string name = choose_host_congestion_control(fresh);
    ::close(fresh);
    return name;
}

}  // namespace tutti::test
