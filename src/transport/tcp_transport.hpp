// Ranks on one host or many, over TCP.
#pragma once

#include "runtime/asio.hpp"
#include "transport/connect_retry.hpp"
#include "transport/listener.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tutti {

struct tcp_options {
    tcp_options() = default;
    explicit tcp_options(std::string host) : bind_host(std::move(host)) {}

    /// An IPv4 or IPv6 address of this machine. Only what can be reached through it is listened to.
    std::string bind_host = "127.0.0.1";
    std::uint16_t port = 0;  // 0: the system chooses
    int backlog = 512;       // connections that nobody has accepted yet
};

/// On a loop in real time. It outlives the tasks it made; links may outlive it.
class tcp_transport final : public transport {
public:
    /// Listens when it returns. Fails with error::invalid_argument for what is no address, with error::system when it cannot be had.
    static result<std::unique_ptr<tcp_transport>> listen(event_loop& loop, const tcp_options& options = tcp_options());
    ~tcp_transport() override { close(); }

    /// "127.0.0.1:port", "[::1]:port": with the port that was bound.
    std::string address() const override { return address_; }
    /// "host:port", "1.2.3.4:port" or "[v6]:port". Names are looked up again at every attempt, and each address of a name has a few seconds.
    /// An address that is local to a link is looked for on the link of this transport's own, whatever interface it names.
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override;
    void close() noexcept override;
    /// For a transport that accepts from several.
    listener& door() noexcept { return door_; }

private:
    using tcp = asio::ip::tcp;

    tcp_transport(event_loop& loop, tcp::acceptor acceptor, std::string usual_congestion_control);

    event_loop& loop_;
    const std::string address_;
    const std::uint32_t zone_;  // of an address that is local to a link; 0 otherwise
    const std::string usual_congestion_control_;
    socket_listener<tcp> door_;
    entrance entrance_;
    connects_under_way connecting_;
};

}  // namespace tutti
