#include "transport/congestion_control.hpp"

#include <doctest/doctest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tutti::test {
namespace {

/// Chooses an algorithm, and returns whether the socket has it now.
bool set(int handle, const std::string& name) {
    return ::setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

struct fresh_socket {
    ~fresh_socket() { ::close(handle); }
    const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
};

TEST_CASE("within a host a socket that would pace gets a congestion control that does not, any other keeps its own") {
    struct row {
        std::string before, after;
    };
    for (const auto& each : {row{"bbr", "cubic"}, row{"cubic", "cubic"}, row{"reno", "reno"}, row{"dctcp", "dctcp"}}) {
        CAPTURE(each.before);
        const fresh_socket one;
        REQUIRE(one.handle >= 0);
        if (!set(one.handle, each.before) || !set(fresh_socket().handle, each.after)) {
            MESSAGE("not to be had on this host: " << each.before << " or " << each.after);
            continue;
        }
        CHECK(choose_host_congestion_control(one.handle) == each.after);
        CHECK(congestion_control_of(one.handle) == each.after);
    }
}

TEST_CASE("to another host that choice is taken back, and no other") {
    struct row {
        std::string usual, now, after;
    };
    for (const row& each : {row{"bbr", "cubic", "bbr"}, row{"bbr", "reno", "bbr"}, row{"cubic", "reno", "reno"},
                            row{"reno", "cubic", "cubic"}, row{"bbr", "dctcp", "dctcp"}}) {
        CAPTURE(each.usual);
        CAPTURE(each.now);
        const fresh_socket one;
        if (!set(one.handle, each.usual) || !set(one.handle, each.now)) {
            MESSAGE("not to be had on this host: " << each.usual << " or " << each.now);
            continue;
        }
        choose_network_congestion_control(one.handle, each.usual);
        CHECK(congestion_control_of(one.handle) == each.after);
    }
}

TEST_CASE("who is accepted has the congestion control of who listened") {
    const fresh_socket usual, listener, caller;
    if (!set(listener.handle, congestion_control_of(usual.handle) == "reno" ? "cubic" : "reno")) return;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener.handle, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener.handle, 1) == 0);
    REQUIRE(::getsockname(listener.handle, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    REQUIRE(::connect(caller.handle, reinterpret_cast<sockaddr*>(&address), size) == 0);
    const int accepted = ::accept(listener.handle, nullptr, nullptr);
    REQUIRE(accepted >= 0);
    CHECK(congestion_control_of(accepted) == congestion_control_of(listener.handle));
    CHECK(congestion_control_of(accepted) != congestion_control_of(caller.handle));
    ::close(accepted);
}

}  // namespace
}  // namespace tutti::test
