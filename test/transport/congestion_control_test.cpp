#include "support/congestion_control.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace tutti::test {
namespace {

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
    const std::string before = congestion_control_of(handle);
    const std::string chosen = choose_host_congestion_control(handle);
    CAPTURE(before);
    CHECK(chosen == congestion_control_of(handle));
    if (allowed().find(" cubic ") != std::string::npos) CHECK(chosen == "cubic");
    else if (allowed().find(" reno ") != std::string::npos) CHECK((chosen == "reno" || chosen == "cubic"));  // root has more to choose from
    else CHECK((chosen == before || chosen == "cubic" || chosen == "reno"));
    ::close(handle);
}

TEST_CASE("a socket to another host gets the system's congestion control back, but for one that somebody else chose") {
    const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(handle >= 0);
    choose_host_congestion_control(handle);
    choose_network_congestion_control(handle);
    CHECK(congestion_control_of(handle) == usual_congestion_control());
    constexpr char theirs[] = "bbr";
    if (::setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, theirs, sizeof theirs - 1) == 0) {
        choose_network_congestion_control(handle);
        CHECK(congestion_control_of(handle) == theirs);
    }
    ::close(handle);
}

TEST_CASE("who is accepted has the congestion control of who listened") {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0), caller = ::socket(AF_INET, SOCK_STREAM, 0);
    choose_host_congestion_control(listener);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener, 1) == 0);
    REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    REQUIRE(::connect(caller, reinterpret_cast<sockaddr*>(&address), size) == 0);
    const int accepted = ::accept(listener, nullptr, nullptr);
    REQUIRE(accepted >= 0);
    CHECK(congestion_control_of(accepted) == host_congestion_control());
    CHECK(congestion_control_of(caller) == usual_congestion_control());
    for (const int each : {accepted, caller, listener}) ::close(each);
}

}  // namespace
}  // namespace tutti::test
