// Rank 0's server for the keys of a job; the other ranks connect by TCP. If a connection ends without a goodbye, the server sets the key
// that reports a dropout to all ranks (dropout.hpp).
#pragma once

#include "rendezvous/store_connection.hpp"

#include <tutti/event.hpp>
#include <tutti/task.hpp>

#include <list>
#include <system_error>
#include <vector>

namespace tutti {

class timed_event;

class tcp_store_server final : private connection_owner {
public:
    /// Most connections without a hello. With one more, the oldest is closed.
    static constexpr std::size_t max_unproven = 64;

    /// Listens as soon as it is made, on a numeric address, or on all addresses if that is empty. `job.me` is ignored.
    static result<std::unique_ptr<tcp_store_server>> listen(event_loop& loop, memory_table& table, const protocol::hello& job,
                                                            const std::string& address, std::uint16_t port);
    /// Takes over a socket that listens already.
    static result<std::unique_ptr<tcp_store_server>> adopt(event_loop& loop, memory_table& table, const protocol::hello& job,
                                                           int descriptor);
    ~tcp_store_server();

    std::uint16_t port() const noexcept { return port_; }
    /// Returns "127.0.0.1:29500", or "*:29500" for all addresses.
    const std::string& address() const noexcept { return address_; }
    /// Returns the address by which most of the connected ranks have come; loopback only if there is no other, empty if no rank is
    /// connected.
    std::string reached_at() const;
    std::size_t connections() const noexcept { return connections_.size(); }

    /// Ends, with the system's error, when a connection has waited for a second because this process, or the system, has no descriptor for
    /// it.
    task<std::error_code> lack();
    /// Returns when every other rank has been here and has left. error::timed_out names the ranks that have not.
    task<result<>> all_gone(time_point deadline);

private:
    class listener;

    tcp_store_server(event_loop& loop, memory_table& table, const protocol::hello& job)
        : loop_(loop),
          table_(table),
          job_(job),
          seen_(seats(job)) {}
    static std::size_t seats(const protocol::hello& job) { return static_cast<std::size_t>(job.size); }
    result<> begin(std::shared_ptr<listener> listening);

    void accepted(asio::ip::tcp::socket socket);
    void look_for_lack(const std::error_code& why, int door);
    std::string judge(const protocol::hello& who) override;
    void lost(rank who, const std::string& why) noexcept override;
    void remove(store_connection& gone) noexcept override;
    std::vector<rank> awaited() const;

    event_loop& loop_;
    memory_table& table_;
    protocol::hello job_;
    std::uint16_t port_ = 0;
    std::string address_;
    std::vector<bool> seen_;  // by rank
    std::shared_ptr<listener> listener_;
    std::list<std::unique_ptr<store_connection>> connections_;  // oldest first
    timed_event* gone_ = nullptr;
    time_point lacks_since_ = no_deadline;
    std::error_code lack_;
    event lacks_;
};

}  // namespace tutti
