// A TCP connection that carries frames: a 32-bit length and that many bytes. It reads one frame at a time and sends in order.
#pragma once

#include "rendezvous/protocol.hpp"
#include "runtime/asio.hpp"

#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace tutti {

/// Called about a frame_socket until it closes that. Called from an Asio handler: it may post and start timers, but not resume coroutines.
class frame_listener {
public:
    /// The mark (the server's first read) or a frame's body.
    virtual void arrived(std::string_view body) = 0;
    /// The last call: the peer is gone, or has sent a frame that is too long.
    virtual void ended(const std::string& why) = 0;

protected:
    ~frame_listener() = default;
};

/// Shared by its owner and Asio's handlers, which may outlive the owner.
class frame_socket final : public std::enable_shared_from_this<frame_socket> {
public:
    /// Bytes that the peer may leave unread before it is taken for dead.
    static constexpr std::size_t max_queued_bytes = 64 * MiB;

    frame_socket(asio::ip::tcp::socket socket, frame_listener& owner);

    /// Reads so many bytes without a length, unless 0, and then frames of at most `max_bytes`.
    void start(std::size_t unframed_bytes, std::size_t max_bytes);
    void allow(std::size_t max_bytes) noexcept { max_bytes_ = max_bytes; }
    void send(std::string bytes);
    /// Returns whether all sent bytes are with the kernel.
    bool flushed() const noexcept { return outgoing_.empty(); }
    /// Ends the calls. Bytes that were sent still leave, then the connection ends.
    void close() noexcept;

private:
    void read(std::size_t count, bool length);
    void have_read(bool length);
    void write();
    void fail(const std::string& why);
    void shut() noexcept;

    asio::ip::tcp::socket socket_;
    frame_listener* owner_;  // null once closed
    std::size_t max_bytes_ = 0;
    std::string incoming_;
    std::deque<std::string> outgoing_;
    std::size_t queued_bytes_ = 0;
};

}  // namespace tutti
