// The server's side of one client: checks its hello, then carries out its requests.
#pragma once

#include "rendezvous/frame_socket.hpp"
#include "rendezvous/key_table.hpp"

#include <tutti/detail/timer.hpp>

#include <memory>
#include <unordered_map>

namespace tutti {

class store_connection;

/// The server, as its connections see it.
class connection_owner {
public:
    /// Returns an empty text to welcome the client, or why it is refused.
    virtual std::string judge(const protocol::hello& who) = 0;
    /// The client's connection has ended without a leave, so its process counts as dead.
    virtual void lost(rank who, const std::string& why) noexcept = 0;
    /// Destroys the connection.
    virtual void remove(store_connection& gone) noexcept = 0;

protected:
    ~connection_owner() = default;
};

class store_connection final : private frame_listener {
public:
    /// The time for a new connection to say hello.
    static constexpr std::chrono::seconds hello_time{5};
    /// Keys that one client may wait for at the same time: bounds its memory here.
    static constexpr std::size_t max_gets = 4096;

    store_connection(connection_owner& owner, event_loop& loop, memory_table::state& table, asio::ip::tcp::socket socket);
    ~store_connection();

    /// Returns the client's rank; -1 before its hello.
    rank peer() const noexcept { return peer_; }
    std::uint64_t ticket() const noexcept { return ticket_; }
    /// Returns the address of this host by which the client has come.
    const std::string& local_address() const noexcept { return local_address_; }

private:
    class remote_get;

    void arrived(std::string_view body) override;
    void ended(const std::string& why) override;
    void greet(std::string_view body);
    void serve(protocol::numbered_request asked);
    void wait(protocol::numbered_request asked);
    void answer(std::uint64_t id, const store_reply& reply) { socket_->send(protocol::frame(id, reply)); }
    void leave() noexcept { owner_.remove(*this); }
    void break_off(const std::string& why) noexcept;

    connection_owner& owner_;
    event_loop& loop_;
    memory_table::state& table_;
    const std::string local_address_;
    std::shared_ptr<frame_socket> socket_;
    bool marked_ = false;
    bool leaves_ = false;
    rank peer_ = -1;
    std::uint64_t ticket_ = 0;
    std::unordered_map<std::uint64_t, std::unique_ptr<remote_get>> gets_;
    detail::alarm<&store_connection::leave> hello_alarm_{*this};
};

}  // namespace tutti
