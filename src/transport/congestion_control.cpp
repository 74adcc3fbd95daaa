#include "transport/congestion_control.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tutti {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view of_a_host[] = {"cubic"sv, "reno"sv};  // that do not pace, the best first

class control {
public:
    explicit control(int handle) noexcept {
        socklen_t size = sizeof name_ - 1;
        ::getsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name_, &size);
    }
    std::string_view name() const noexcept { return name_; }

private:
    char name_[32] = {};  // the system's are shorter
};

bool choose(int handle, std::string_view name) noexcept {
    return ::setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

}  // namespace

std::string choose_host_congestion_control(int handle) {
    for (const auto name : of_a_host)
        if (choose(handle, name)) break;
    return std::string(control(handle).name());
}

void choose_network_congestion_control(int handle) noexcept {
    // One that came with the route stays.
    if (std::ranges::find(of_a_host, control(handle).name()) == std::end(of_a_host)) return;
    int domain = AF_INET;
    socklen_t size = sizeof domain;
    ::getsockopt(handle, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    const int fresh = ::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fresh < 0) return;
    choose(handle, control(fresh).name());
    ::close(fresh);
}

}  // namespace tutti
