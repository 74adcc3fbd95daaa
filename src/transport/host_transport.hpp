// The transport `auto`: shared memory with ranks on the same host, TCP with all others.
#pragma once

#include "transport/shm_transport.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/transport.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tutti {

/// Owns one transport of each kind, and accepts from both. On their loop.
class host_transport final : public transport {
public:
    /// `tell` hears, once, why a peer on this host is reached over TCP.
    host_transport(event_loop& loop, std::unique_ptr<tcp_transport> far, std::unique_ptr<shm_transport> near,
                   std::function<void(const std::string&)> tell);
    ~host_transport() override { close(); }

    /// Returns both addresses, with a space between.
    std::string address() const override { return far_->address() + " " + near_->address(); }
    /// Takes such an address, or one of TCP alone.
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override { return entrance_.accept(); }
    void close() noexcept override;

private:
    const std::unique_ptr<tcp_transport> far_;
    const std::unique_ptr<shm_transport> near_;
    const std::function<void(const std::string&)> tell_;
    entrance entrance_;
    bool told_ = false;
};

}  // namespace tutti
