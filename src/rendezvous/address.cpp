#include "rendezvous/address.hpp"

#include "runtime/asio.hpp"

#include <fmt/format.h>

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

/// The address of the default route (the target is reserved for documentation, so it is nobody's neighbour).
address outward_address() { return source_towards(asio::ip::make_address("192.0.2.1")); }

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
    const address mine = master.is_unspecified() ? outward_address() : source_towards(master);
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
