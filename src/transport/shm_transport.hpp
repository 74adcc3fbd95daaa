// The transport between ranks of one host, through shared memory.
#pragma once

#include "transport/arena.hpp"
#include "transport/connect_retry.hpp"
#include "transport/listener.hpp"
#include "transport/local_socket.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace tutti {

/// The beginning of all addresses in shared memory: the version of its layout.
inline constexpr std::string_view shm_scheme = "shm5:";

/// Owns the listening socket. On a loop in real time. It outlives the tasks it made; links may outlive it. Connects processes of one user
/// only.
class shm_transport final : public transport {
public:
    /// Makes a transport that listens. Its links lend memory of the arena `mine`. `played`: as host_identity says. Fails with error::system, and names what is missing.
    static result<std::unique_ptr<shm_transport>> listen(event_loop& loop, std::shared_ptr<arena> mine = std::make_shared<arena>(true),
                                                         int played = 0);
    ~shm_transport() override { close(); }

    /// Returns "shm5:HOST/NAME": the host's identity, and the name of a local socket.
    std::string address() const override { return address_; }
    /// error::invalid_argument for any other text, and for an address on another host.
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override { return entrance_.accept(); }
    void close() noexcept override;

    /// Returns whether an address is on this host.
    bool reaches(std::string_view address) const noexcept { return address.starts_with(here_); }
    /// Connects to an address that this transport reaches. Tries again only while the peer's queue of connections is full; any other
    /// failure ends it.
    task<result<std::unique_ptr<link>>> queue_up(std::string address, time_point deadline);
    /// Makes one attempt, at an address that this transport reaches.
    result<std::unique_ptr<link>> try_connect(const std::string& address);
    /// For host_transport, which accepts from two transports.
    listener& door() noexcept { return door_; }

private:
    shm_transport(event_loop& loop, std::string here, std::string name, local_protocol::acceptor acceptor, std::shared_ptr<arena> mine);

    event_loop& loop_;
    const std::string here_;
    const std::string address_;
    const std::shared_ptr<arena> mine_;
    socket_listener<local_protocol> door_;
    entrance entrance_;
    connects_under_way connecting_;
};

}  // namespace tutti
