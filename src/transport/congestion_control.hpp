// Which congestion control a TCP socket has.
#pragma once

#include <string>

namespace tutti {

std::string congestion_control_of(int handle);

/// For sockets whose other end may be on this host, before they connect or listen: asks for one that does not pace in place of one that does
/// (bbr), because pacing only adds timers there. A socket that was connected with one that paces goes on pacing whatever it has later; what a
/// listener has, those have that it accepts. Returns the name of the one that the socket has now: the system's where that does not pace, or
/// where nobody may choose.
std::string choose_host_congestion_control(int handle);

/// For a connected socket whose other end turned out to be elsewhere: takes that choice back, where one may. `usual` is what a socket has that
/// nobody has chosen for.
void choose_network_congestion_control(int handle, const std::string& usual);

}  // namespace tutti
