// Which congestion control a TCP socket has.
#pragma once

#include <string>

namespace tutti {

/// For sockets whose other end is on this host: asks for one that does not pace, because pacing (bbr) only adds timers there. Returns the
/// name of the one that the socket has now: the system's where nobody may choose.
std::string choose_host_congestion_control(int handle);

}  // namespace tutti
