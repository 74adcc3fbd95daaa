#include "transport/congestion_control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace tutti {

std::string choose_host_congestion_control(int handle) {
    using namespace std::string_view_literals;
    for (const auto name : {"cubic"sv, "reno"sv})
        if (::setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0)
            return std::string(name);
    char name[32] = {};  // the system's names are shorter
    socklen_t size = sizeof name - 1;
    ::getsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name, &size);
    return name;
}

}  // namespace tutti
