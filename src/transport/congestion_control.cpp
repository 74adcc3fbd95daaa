#include "transport/congestion_control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tutti {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view unpaced[] = {"cubic"sv, "reno"sv};  // the better one first

bool paces(std::string_view name) noexcept { return name.starts_with("bbr"); }

bool choose(int handle, std::string_view name) noexcept {
    return ::setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

std::string congestion_control_of(int handle) {
    char name[32] = {};  // the system's names are shorter
    socklen_t size = sizeof name - 1;
    ::getsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name, &size);
    return name;
}

std::string choose_host_congestion_control(int handle) {
    if (paces(congestion_control_of(handle)))
        for (const auto name : unpaced)
            if (choose(handle, name)) break;
    return congestion_control_of(handle);
}

void choose_network_congestion_control(int handle, const std::string& usual) {
    // If the usual one does not pace, nothing was chosen. If the socket has none of `unpaced`, the system has set it for the route.
    if (paces(usual) && std::ranges::find(unpaced, congestion_control_of(handle)) != std::end(unpaced)) choose(handle, usual);
}

}  // namespace tutti
