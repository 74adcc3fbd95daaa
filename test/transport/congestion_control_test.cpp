#include "transport/congestion_control.hpp"

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tutti::test {
namespace {

std::string name_of(int handle) {
    char name[32] = {};
    socklen_t size = sizeof name - 1;
    ::getsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name, &size);
    return name;
}

/// Those that a user without privileges may choose.
std::string allowed() {
    std::string text;
    std::ifstream file("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    std::getline(file, text);
    return ' ' + text + ' ';
}

TEST_CASE("a socket within a host gets a congestion control that does not pace where one is allowed, and is told which it has") {
    const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(handle >= 0);
    const std::string before = name_of(handle);
    const std::string chosen = choose_host_congestion_control(handle);
    CAPTURE(before);
    CHECK(chosen == name_of(handle));
    if (allowed().find(" cubic ") != std::string::npos) CHECK(chosen == "cubic");
    else if (allowed().find(" reno ") != std::string::npos) CHECK((chosen == "reno" || chosen == "cubic"));  // root has more to choose from
    else CHECK((chosen == before || chosen == "cubic" || chosen == "reno"));
    ::close(handle);
}

}  // namespace
}  // namespace tutti::test
