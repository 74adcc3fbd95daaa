#include "rendezvous/address.hpp"

#include "runtime/asio.hpp"
#include "runtime/connecting.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace tutti {
namespace {

using address = asio::ip::address;

constexpr auto loopback_host = "127.0.0.1";

/// Returns the address of a name that is a number already.
std::optional<address> number_in(const std::string& host) {
    boost::system::error_code error;
    const address number = asio::ip::make_address(host, error);
    return error ? std::nullopt : std::optional(number);
}

/// Returns the first address of a name that other hosts can use too; unspecified if there is none.
address first_for_others(const std::string& host) {
    if (const auto number = number_in(host)) return *number;
    boost::system::error_code error;
    asio::io_context context;
    asio::ip::tcp::resolver resolver(context);
    const auto found = resolver.resolve(host, "", error);
    for (const auto& each : found)
        if (!each.endpoint().address().is_loopback()) return each.endpoint().address();
    return {};
}

/// Returns the address from which this host would send to `target`; sends nothing. Unspecified if there is no route.
address source_towards(const address& target) {
    constexpr std::uint16_t any_port = 9;
    asio::io_context context;
    asio::ip::udp::socket probe(context);
    boost::system::error_code error;
    probe.connect({target, any_port}, error);
    const auto local = error ? asio::ip::udp::endpoint() : probe.local_endpoint(error);
    return error ? address() : local.address();
}

address address_in(const sockaddr* from) {
    if (from->sa_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, from, sizeof four);
        return asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
    }
    sockaddr_in6 six{};
    std::memcpy(&six, from, sizeof six);
    asio::ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
    return asio::ip::address_v6(bytes, six.sin6_scope_id);
}

/// Returns the addresses of the interfaces that are up.
std::vector<address> own_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
    std::vector<address> found;
    for (const ifaddrs* each = list; each; each = each->ifa_next)
        if (each->ifa_addr && (each->ifa_flags & IFF_UP) != 0 &&
            (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6))
            found.push_back(address_in(each->ifa_addr));
    return found;
}

/// Returns the first address that other hosts may reach, IPv4 if there is one; unspecified if there is none.
address own_address() {
    address found;
    for (const address& each : own_addresses()) {
        if (each.is_loopback() || zone_of(each) != 0) continue;
        if (each.is_v4()) return each;
        if (found.is_unspecified()) found = each;
    }
    return found;
}

/// Returns the address of the default route. The target is reserved for documentation, so it is on no local network.
address outward_address() {
    const address routed = source_towards(asio::ip::make_address("192.0.2.1"));
    return routed.is_unspecified() ? own_address() : routed;
}

std::string text(const address& one) { return one.is_unspecified() ? "" : one.to_string(); }

}  // namespace

bool on_several_hosts(const world& all) noexcept { return all.local_size != 0 && !on_one_host(all); }

bool names_loopback(const std::string& host) {
    const auto number = number_in(host);
    return host == "localhost" || (number && plain(*number).is_loopback());
}

std::string listen_address(const world& all) {
    if (!all.store_path.empty()) return loopback_host;  // ranks that meet in a file are on one host
    const bool local = names_loopback(all.master_address) && !on_several_hosts(all);
    if (local || on_one_host(all)) return store_host(all);
    if (all.master_address.empty()) return "";
    const address master = first_for_others(all.master_address);
    const address mine = master.is_unspecified() ? address() : source_towards(master);
    return text(mine.is_unspecified() || mine.is_loopback() ? outward_address() : mine);
}

std::optional<std::string> address_for_peers(const world& all, const std::string& reached) {
    if (reached.empty() || !all.store_path.empty() || on_one_host(all)) return listen_address(all);
    const bool for_peers = names_loopback(all.master_address) || !names_loopback(reached);
    return for_peers ? std::optional(reached) : std::nullopt;
}

std::string store_host(const world& all) {
    const bool number = number_in(all.master_address).has_value();
    if (names_loopback(all.master_address)) return number ? all.master_address : loopback_host;
    return on_one_host(all) ? loopback_host : all.master_address;
}

std::string store_bind_address(const world& all) {
    const auto number = number_in(store_host(all));
    if (!number || number->is_unspecified()) return "";
    const std::vector<address> own = own_addresses();
    const bool here = number->is_loopback() || std::find(own.begin(), own.end(), *number) != own.end();
    return here ? number->to_string() : "";
}

std::string place_of(const std::string& host, std::uint16_t port) {
    if (host.empty()) return fmt::format("*:{}", port);
    return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace tutti
