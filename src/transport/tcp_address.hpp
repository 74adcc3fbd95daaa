// From "host:port" to the endpoints behind it.
#pragma once

#include "runtime/name_question.hpp"

#include <tutti/detail/runnable.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
class event_loop;
}  // namespace tutti

namespace tutti {

struct host_and_port {
    std::string host;  // without brackets
    std::uint16_t port = 0;
};

/// Parses "host:port" or "[v6]:port" with a port from 1 to 65535; nothing for any other text.
std::optional<host_and_port> parse_address(std::string_view text);

/// Returns "127.0.0.1:80" or "[::1]:80".
std::string to_string(const asio::ip::tcp::endpoint& where);

/// Looks a host up. An answer that comes after its end is dropped.
class lookup {
public:
    /// Runs `work` when done. For a numeric address, which gets the zone of this host (number_of), it does so before it returns.
    void start(event_loop& loop, const host_and_port& what, std::uint32_t zone, detail::runnable& work);

    const std::vector<asio::ip::tcp::endpoint>& endpoints() const noexcept { return asked_ ? asked_->endpoints() : numeric_; }
    /// Returns why there are no endpoints.
    std::string reason() const { return asked_ ? asked_->reason() : std::string(); }

private:
    std::optional<name_question> asked_;
    std::vector<asio::ip::tcp::endpoint> numeric_;
};

}  // namespace tutti
