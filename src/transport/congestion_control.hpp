// Chooses the congestion control of TCP sockets.
#pragma once

#include <string>

namespace tutti {

std::string congestion_control_of(int handle);

/// Replaces congestion control that paces (bbr) by one that does not, for a socket whose other end may be on this host: there pacing only
/// adds timers. Before it connects or listens, because a socket that has connected with bbr paces whatever it is set to later. Accepted
/// sockets have what their listener has. Returns the name that the socket has afterwards: the system's, if that does not pace or this
/// process may not choose.
std::string choose_host_congestion_control(int handle);

/// Takes that choice back for a connected socket whose other end is on another host. `usual` is what a new socket has.
void choose_network_congestion_control(int handle, const std::string& usual);

}  // namespace tutti
