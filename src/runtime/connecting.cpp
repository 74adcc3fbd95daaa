#include "runtime/connecting.hpp"

#include "base/file_descriptor.hpp"

#include <fmt/format.h>

#include <sys/socket.h>

#include <cerrno>

namespace tutti {

using asio::ip::tcp;

template <class Socket>
boost::system::error_code open_unshared(Socket& socket, const tcp& protocol) {
    boost::system::error_code code;
    file_descriptor made(::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol()));
    if (!made) code.assign(errno, boost::system::system_category());
    else if (!socket.assign(protocol, made.number(), code)) made.release();
    return code;
}
template boost::system::error_code open_unshared(tcp::socket&, const tcp&);
template boost::system::error_code open_unshared(tcp::acceptor&, const tcp&);

boost::system::error_code open_to_connect(tcp::socket& socket, const tcp& protocol) {
    boost::system::error_code code = open_unshared(socket, protocol);
    if (!code) socket.set_option(tcp::socket::reuse_address(true), code);
    if (!code) socket.non_blocking(true, code);
    return code;
}

boost::system::error_code start_to_connect(tcp::socket& socket, const tcp::endpoint& where) {
    boost::system::error_code code;
    if (::connect(socket.native_handle(), where.data(), static_cast<socklen_t>(where.size())) != 0 && errno != EINPROGRESS &&
        errno != EINTR)
        code.assign(errno, boost::system::system_category());
    return code;
}

boost::system::error_code end_of_connect(tcp::socket& socket) {
    int value = 0;
    socklen_t bytes = sizeof value;
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &value, &bytes) != 0) value = errno;
    boost::system::error_code code(value, boost::system::system_category());
    const tcp::endpoint there = code ? tcp::endpoint() : socket.remote_endpoint(code);
    if (code || there != socket.local_endpoint(code)) return code;
    boost::system::error_code ignored;
    socket.set_option(tcp::socket::linger(true, 0), ignored);  // nothing of it stays at the port
    return asio::error::connection_refused;
}

bool is_final(const boost::system::error_code& code) noexcept { return code == asio::error::invalid_argument; }

std::string explain(const boost::system::error_code& code, const tcp::endpoint& where) {
    const auto address = where.address();
    const bool lacks_zone = address.is_v6() && address.to_v6().is_link_local() && zone_of(address) == 0;
    if (!is_final(code) || !lacks_zone) return code.message();
    return fmt::format("{}: an address that is local to a link needs an interface of this host, as in {}%eth0", code.message(),
                       address.to_string());
}

asio::ip::address plain(const asio::ip::address& from) {
    return from.is_v6() && from.to_v6().is_v4_mapped() ? asio::ip::make_address_v4(asio::ip::v4_mapped, from.to_v6()) : from;
}

std::uint32_t zone_of(const asio::ip::address& from) noexcept {
    return from.is_v6() && from.to_v6().is_link_local() ? static_cast<std::uint32_t>(from.to_v6().scope_id()) : 0;
}

asio::ip::address number_of(const std::string& host, std::uint32_t zone, boost::system::error_code& error) {
    const asio::ip::address number = asio::ip::make_address(host, error);
    if (error || zone == 0 || !number.is_v6() || !number.to_v6().is_link_local()) return number;
    asio::ip::address_v6 here = number.to_v6();
    here.scope_id(zone);
    return here;
}

}  // namespace tutti
