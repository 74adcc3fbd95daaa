#include "transport/tcp_address.hpp"

#include "runtime/connecting.hpp"

#include <tutti/event_loop.hpp>

#include <fmt/format.h>

#include <charconv>

namespace tutti {

using asio::ip::tcp;

std::optional<host_and_port> parse_address(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos) return std::nullopt;
    host_and_port found{std::string(host), 0};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), found.port);
    if (code != std::errc{} || end != digits.data() + digits.size() || found.port == 0 || host.empty()) return std::nullopt;
    return found;
}

std::string to_string(const tcp::endpoint& where) {
    const auto address = where.address();
    const auto host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
    return fmt::format("{}:{}", host, where.port());
}

void lookup::start(event_loop& loop, const host_and_port& what, std::uint32_t zone, detail::runnable& work) {
    boost::system::error_code code;
    const auto numeric = number_of(what.host, zone, code);
    if (code) {
        asked_.emplace(loop, what.host, what.port, work);
        return;
    }
    numeric_ = {tcp::endpoint(numeric, what.port)};
    work.run();
}

}  // namespace tutti
