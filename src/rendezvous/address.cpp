#include "rendezvous/address.hpp"

#include "runtime/asio.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>
#include <memory>

namespace tutti {
namespace {

using address = asio::ip::address;

bool names_loopback(const std::string& host) {
    boost::system::error_code not_numeric;
    const address numeric = asio::ip::make_address(host, not_numeric);
    return host == "localhost" || (!not_numeric && numeric.is_loopback());
}

/// The first address of a name, or the number it already is.
address resolve(const std::string& host, boost::system::error_code& error) {
    const address numeric = asio::ip::make_address(host, error);
    if (!error) return numeric;
    asio::io_context context;
    asio::ip::tcp::resolver resolver(context);
    const auto found = resolver.resolve(host, "", error);
    return error ? address() : found.begin()->endpoint().address();
}

/// The address from which this host would send to `target`; nothing is sent. Unspecified when there is no route.
address source_towards(const address& target) {
    constexpr std::uint16_t any_port = 9;
    asio::io_context context;
    asio::ip::udp::socket probe(context);
    boost::system::error_code error;
    probe.connect({target, any_port}, error);
    const auto local = error ? asio::ip::udp::endpoint() : probe.local_endpoint(error);
    return error ? address() : local.address();
}

/// Of the interfaces that are up: the first address that other hosts may reach, of IPv4 if there is one. Unspecified when there is none.
address own_address() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
    address found;
    for (const ifaddrs* each = list; each; each = each->ifa_next) {
        if (!each->ifa_addr || (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
        if (each->ifa_addr->sa_family == AF_INET) {
            sockaddr_in four{};
            std::memcpy(&four, each->ifa_addr, sizeof four);
            return asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
        }
        if (each->ifa_addr->sa_family != AF_INET6 || !found.is_unspecified()) continue;
        sockaddr_in6 six{};
        std::memcpy(&six, each->ifa_addr, sizeof six);
        asio::ip::address_v6::bytes_type bytes;
        std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
        if (const asio::ip::address_v6 one(bytes); !one.is_link_local()) found = one;
    }
    return found;
}

/// The address of the default route (the target is reserved for documentation, so it is nobody's neighbour).
address outward_address() {
    const address routed = source_towards(asio::ip::make_address("192.0.2.1"));
    return routed.is_unspecified() ? own_address() : routed;
}

bool on_several_hosts(const world& all) { return all.local_size != 0 && !on_one_host(all); }

std::string text(const address& one) { return one.is_unspecified() ? "" : one.to_string(); }

}  // namespace

std::string listen_address(const world& all) {
    if (!all.store_path.empty()) return "127.0.0.1";  // ranks that meet in a file are on one host
    boost::system::error_code error;
    if (names_loopback(all.master_address) && !on_several_hosts(all)) return text(resolve(all.master_address, error));
    if (on_one_host(all)) return "127.0.0.1";
    if (all.master_address.empty()) return "";
    const address master = resolve(all.master_address, error);
    if (error) return "";
    const address outward = master.is_unspecified() ? outward_address() : address();
    const address mine = outward.is_unspecified() ? source_towards(master) : outward;
    // Debian gives a host's own name the address 127.0.1.1, which no other host reaches.
    return text(mine.is_loopback() && on_several_hosts(all) ? outward_address() : mine);
}

result<std::string> store_address(const world& all) {
    boost::system::error_code error;
    const address master = resolve(all.master_address, error);
    if (error) return failure(tutti::error::system, fmt::format("MASTER_ADDR={} has no address: {}", all.master_address, error.message()));
    const bool unreachable = master.is_loopback() && on_several_hosts(all) && !names_loopback(all.master_address);
    return unreachable ? text(outward_address()) : master.to_string();
}

}  // namespace tutti
