// The transport over TCP, within a host and between hosts.
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

    /// An IPv4 or IPv6 address of this machine. Accepts connections to that address only.
    std::string bind_host = "127.0.0.1";
    std::uint16_t port = 0;  // 0: the system chooses
    int backlog = 512;       // connections that wait to be accepted
};

/// Owns the listening socket. On a loop in real time. It outlives the tasks it made; links may outlive it.
class tcp_transport final : public transport {
public:
    /// Makes a transport that listens. Fails with error::invalid_argument if bind_host is no address, with error::system when the system
    /// refuses.
    static result<std::unique_ptr<tcp_transport>> listen(event_loop& loop, const tcp_options& options = tcp_options());
    ~tcp_transport() override { close(); }

    /// Returns "127.0.0.1:port" or "[::1]:port", with the port that was bound.
    std::string address() const override { return address_; }
    /// Takes "host:port", "1.2.3.4:port" or "[v6]:port". A name is looked up again at every attempt, and each of its addresses has a few
    /// seconds. A link-local address is looked for on the interface of this transport's own address, whatever interface it names.
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override;
    void close() noexcept override;
    /// For host_transport, which accepts from two transports.
    listener& door() noexcept { return door_; }

private:
    using tcp = asio::ip::tcp;

    tcp_transport(event_loop& loop, tcp::acceptor acceptor, std::string usual_congestion_control);

    event_loop& loop_;
    const std::string address_;
    const std::uint32_t zone_;  // of a link-local address; else 0
    const std::string usual_congestion_control_;
    socket_listener<tcp> door_;
    entrance entrance_;
    connects_under_way connecting_;
};

}  // namespace tutti
