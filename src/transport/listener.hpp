// Sockets that listen for links which peers open, and the task that accepts from them.
#pragma once

#include "base/descriptors.hpp"
#include "base/file_descriptor.hpp"
#include "runtime/asio.hpp"
#include "transport/socket_wait.hpp"
#include "transport/wake_call.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tutti {

/// One listening socket of a transport, on its loop. An `entrance` accepts from it.
class listener {
public:
    virtual ~listener() = default;

    virtual bool open() const noexcept = 0;
    /// Returns the next link; null when there is none. Sets `code` when it is to be asked again a little later, though no event will say
    /// so.
    virtual std::unique_ptr<link> next(std::error_code& code) = 0;
    /// Runs `work` once, when there may be a link. A second call replaces `work`.
    virtual void when_any(detail::runnable& work) = 0;
    virtual void forget() noexcept = 0;
    virtual void close() noexcept = 0;
};

/// At most so many connections are turned away in one go, so that strangers do not hold the loop.
constexpr int most_strangers = 64;

template <class Protocol>
class socket_listener final : public listener {
public:
    using socket = typename Protocol::socket;
    /// Makes a link of an accepted socket; null turns it away.
    using maker = std::function<std::unique_ptr<link>(event_loop& loop, socket from)>;

    socket_listener(event_loop& loop, typename Protocol::acceptor acceptor, maker make)
        : loop_(loop),
          acceptor_(std::move(acceptor)),
          make_(std::move(make)),
          incoming_(loop, acceptor_, socket::wait_read) {}

    bool open() const noexcept override { return acceptor_.is_open(); }
    std::unique_ptr<link> next(std::error_code& code) override {
        for (int strangers = 0; strangers < most_strangers;) {
            file_descriptor accepted(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!accepted) {
                if (errno == EINTR || errno == ECONNABORTED) continue;
                const std::error_code why(errno, std::system_category());
                // Without a free descriptor accept fails even if no connection waits.
                if (why != std::errc::operation_would_block && (!out_of_descriptors(why) || somebody_waits())) code = why;
                return nullptr;
            }
            socket came(io_of(loop_));
            boost::system::error_code refused;
            if (came.assign(acceptor_.local_endpoint(refused).protocol(), accepted.number(), refused)) {
                code = refused;
                return nullptr;
            }
            accepted.release();
            if (auto made = make_(loop_, std::move(came))) return made;
            ++strangers;
        }
        code = std::make_error_code(std::errc::resource_unavailable_try_again);
        return nullptr;
    }
    void when_any(detail::runnable& work) override {
        work_ = &work;
        if (!std::exchange(waiting_, true)) incoming_.start(ready_);
    }
    void forget() noexcept override { work_ = nullptr; }
    void close() noexcept override {
        work_ = nullptr;
        incoming_.forget();
        boost::system::error_code ignored;
        acceptor_.close(ignored);
    }

private:
    bool somebody_waits() noexcept {
        pollfd door{acceptor_.native_handle(), POLLIN, 0};
        return ::poll(&door, 1, 0) != 0;
    }
    void ready() noexcept {
        waiting_ = false;
        if (auto* const work = std::exchange(work_, nullptr)) work->run();
    }

    event_loop& loop_;
    typename Protocol::acceptor acceptor_;
    const maker make_;
    socket_wait<typename Protocol::acceptor> incoming_;
    detail::runnable* work_ = nullptr;
    bool waiting_ = false;
    detail::callback<&socket_listener::ready> ready_{*this};
};

/// Accepts from the listeners of a transport, on its loop. Owns none of them.
class entrance {
public:
    entrance(event_loop& loop, std::vector<listener*> doors) : loop_(loop), doors_(std::move(doors)) {}

    /// Returns the next link. One caller at a time. Ends with error::closed after close(), and with a code of out_of_descriptors when a
    /// peer has waited for exhausted_for without a descriptor for it.
    task<result<std::unique_ptr<link>>> accept();
    void close() noexcept;

private:
    event_loop& loop_;
    const std::vector<listener*> doors_;
    wake_call* accepting_ = nullptr;
    bool closed_ = false;
};

}  // namespace tutti
