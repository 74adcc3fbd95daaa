#include "transport/lingering_socket.hpp"
#include "runtime/asio.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

namespace tutti {
namespace {

using asio::ip::tcp;
using clock = std::chrono::steady_clock;

// Between looks at whether all bytes are acknowledged; doubled each time.
constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{50};
constexpr int most_reads = 64;  // in one go, so that a peer that never stops sending does not hold the loop

/// Owned by the handler of its own timer, so the loop destroys it when that ends.
class lingering_socket {
public:
    explicit lingering_socket(tcp::socket socket) : socket_(std::move(socket)), pause_(socket_.get_executor()) {}
    ~lingering_socket() {
        if (socket_.is_open()) drain();
    }

    static void wait(std::unique_ptr<lingering_socket> self) {
        auto& pause = self->pause_;
        pause.expires_after(self->next_);
        self->next_ = std::min(2 * self->next_, longest_pause);
        pause.async_wait([owner = std::move(self)](const boost::system::error_code& code) mutable {
            if (!code && !owner->done()) wait(std::move(owner));
        });
    }

    bool done() noexcept { return drain() || arrived() || clock::now() >= limit_; }

private:
    /// Throws input away. Returns whether no more can come.
    bool drain() noexcept {
        std::byte waste[16 * 1024];
        for (int i = 0; i < most_reads; ++i) {
            const auto bytes = ::recv(socket_.native_handle(), waste, sizeof waste, MSG_DONTWAIT);
            if (bytes == 0) return true;
            if (bytes < 0 && errno != EINTR) return errno != EAGAIN && errno != EWOULDBLOCK;
        }
        return false;
    }

    /// Returns whether all bytes and the end of the stream are acknowledged.
    bool arrived() noexcept {
        int waiting_bytes = 0;
        return ::ioctl(socket_.native_handle(), SIOCOUTQ, &waiting_bytes) == 0 && waiting_bytes == 0;
    }

    tcp::socket socket_;
    asio::steady_timer pause_;
    std::chrono::milliseconds next_ = shortest_pause;
    clock::time_point limit_ = clock::now() + linger_limit;
};

}  // namespace

void close_gently(tcp::socket socket) noexcept {
    boost::system::error_code ignored;
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    try {
        auto lingering = std::make_unique<lingering_socket>(std::move(socket));
        if (!lingering->done()) lingering_socket::wait(std::move(lingering));
    } catch (const std::exception&) {
        // Out of memory: the socket is closed at once.
    }
}

}  // namespace tutti
