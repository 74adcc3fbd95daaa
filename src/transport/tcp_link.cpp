#include "transport/tcp_link.hpp"

#include "runtime/connecting.hpp"
#include "transport/congestion_control.hpp"
#include "transport/lingering_socket.hpp"
#include "transport/socket_wait.hpp"
#include "transport/tcp_address.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace tutti {
namespace {

using asio::ip::tcp;

constexpr std::size_t max_parts = 64;           // of one system call; the rest waits for the next
constexpr std::size_t host_window = 512 * KiB;  // the kernel's pages and the receiver's memory stay in the cache
constexpr int shared_unsent = 128 * KiB;        // bytes that the kernel takes beyond what it may send: more are better left to other links

/// The front of `parts` as the kernel wants it. Empty parts are left out: reading nothing would look like the end of the stream.
template <class Byte>
class kernel_parts {
public:
    explicit kernel_parts(std::span<const std::span<Byte>> parts) noexcept {
        for (const auto& part : parts) {
            if (part.empty()) continue;
            if (count_ == max_parts) break;
            vectors_[count_++] = {const_cast<std::byte*>(part.data()), part.size()};
        }
        header_.msg_iov = vectors_;
        header_.msg_iovlen = count_;
    }
    bool empty() const noexcept { return count_ == 0; }
    /// Returns the only part, for the cheaper calls; null when there are more.
    const iovec* single() const noexcept { return count_ == 1 ? vectors_ : nullptr; }
    msghdr* header() noexcept { return &header_; }

private:
    iovec vectors_[max_parts];
    std::size_t count_ = 0;
    msghdr header_{};
};

template <class Call>
ssize_t uninterrupted(Call call) noexcept {
    ssize_t done;
    do done = call();
    while (done < 0 && errno == EINTR);
    return done;
}

bool would_wait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }

class tcp_link final : public link {
public:
    tcp_link(event_loop& loop, tcp::socket socket, std::string peer, bool same_host)
        : socket_(std::move(socket)),
          handle_(socket_.native_handle()),
          reader_(loop, socket_, tcp::socket::wait_read),
          writer_(loop, socket_, tcp::socket::wait_write),
          peer_(std::move(peer)),
          same_host_(same_host) {}
    ~tcp_link() override { close(); }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        if (send_code_) return {0, send_code_};
        kernel_parts<const std::byte> out{parts};
        if (out.empty()) return {};
        constexpr int how = MSG_NOSIGNAL | MSG_DONTWAIT;
        const auto sent = uninterrupted([&] {
            if (const auto* one = out.single()) return ::send(handle_, one->iov_base, one->iov_len, how);
            return ::sendmsg(handle_, out.header(), how);
        });
        if (sent >= 0) {
            writer_.stir();
            return {static_cast<std::size_t>(sent), {}};
        }
        if (!would_wait()) send_code_ = {errno, std::system_category()};
        return {0, send_code_};
    }

    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        if (recv_code_) return {0, recv_code_};
        kernel_parts<std::byte> in{parts};
        if (in.empty()) return {};
        const auto received = uninterrupted([&] {
            if (const auto* one = in.single()) return ::recv(handle_, one->iov_base, one->iov_len, MSG_DONTWAIT);
            return ::recvmsg(handle_, in.header(), MSG_DONTWAIT);
        });
        if (received > 0) {
            reader_.stir();
            return {static_cast<std::size_t>(received), {}};
        }
        if (received == 0) recv_code_ = error::peer_died;
        else if (!would_wait()) recv_code_ = {errno, std::system_category()};
        return {0, recv_code_};
    }

    void when_readable(detail::runnable& work) noexcept override {
        if (socket_.is_open()) reader_.start(work);
    }
    void when_writable(detail::runnable& work) noexcept override {
        if (socket_.is_open()) writer_.start(work);
    }

    void expect(bool soon) noexcept override { reader_.expect(soon); }

    void close() noexcept override {
        reader_.forget();
        writer_.forget();
        if (!socket_.is_open()) return;
        // A direction that broke before keeps its code.
        if (!send_code_) send_code_ = error::closed;
        if (!recv_code_) recv_code_ = error::closed;
        close_gently(std::move(socket_));
    }

    std::unique_ptr<link> move_to(event_loop& other) noexcept override {
        boost::system::error_code code;
        const auto protocol = socket_.local_endpoint(code).protocol();
        const int handle = socket_.release(code);
        if (code) return nullptr;
        tcp::socket there(io_of(other));
        if (there.assign(protocol, handle, code)) {
            ::close(handle);
            return nullptr;
        }
        there.non_blocking(true, code);
        return std::make_unique<tcp_link>(other, std::move(there), peer_, same_host_);
    }

    void share() noexcept override { ::setsockopt(handle_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &shared_unsent, sizeof shared_unsent); }
    std::size_t under_way() const noexcept override {
        int bytes = 0;
        return ::ioctl(handle_, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    }
    std::size_t window() const noexcept override { return same_host_ ? host_window : link::window(); }
    std::string peer() const override { return peer_; }

private:
    tcp::socket socket_;
    const int handle_;
    socket_wait<tcp::socket> reader_;
    socket_wait<tcp::socket> writer_;
    std::error_code send_code_;
    std::error_code recv_code_;
    const std::string peer_;
    const bool same_host_;
};

void set(int handle, int level, int name, int value) noexcept { ::setsockopt(handle, level, name, &value, sizeof value); }

}  // namespace

bool on_same_host(const asio::ip::address& mine, const asio::ip::address& theirs) {
    return plain(theirs).is_loopback() || plain(theirs) == plain(mine);
}

std::unique_ptr<link> make_tcp_link(event_loop& loop, tcp::socket socket, const std::string& usual_congestion_control) {
    boost::system::error_code ignored;  // a socket that has broken meanwhile reports it at its first use
    socket.non_blocking(true, ignored);
    const int handle = socket.native_handle();
    set(handle, IPPROTO_TCP, TCP_NODELAY, 1);
    set(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
    const auto theirs = socket.remote_endpoint(ignored);
    const auto mine = socket.local_endpoint(ignored);
    const bool same_host = on_same_host(mine.address(), theirs.address());
    if (!same_host) choose_network_congestion_control(handle, usual_congestion_control);
    return std::make_unique<tcp_link>(loop, std::move(socket), to_string(theirs), same_host);
}

}  // namespace tutti
