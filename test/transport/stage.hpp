// A loop and some transports of one kind that can reach each other: what the tests of all transports have in common.
#pragma once

#include "multiplexed_transport.hpp"
#include "transport/host_transport.hpp"
#include "transport/memory_transport.hpp"
#include "transport/shm_transport.hpp"
#include "transport/simulated_transport.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>
#include <tutti/transport.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace tutti::test {

class stage {
public:
    virtual ~stage() = default;
    virtual event_loop& loop() = 0;
    virtual std::unique_ptr<transport> make() = 0;
    /// Returns a number of bytes that a link certainly cannot hold, so that the sender has to wait.
    virtual std::size_t too_much() const = 0;
};

class memory_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::make_unique<memory_transport>(loop_, network_); }
    std::size_t too_much() const override { return 64 * KiB; }

private:
    event_loop loop_{event_loop::virtual_time};
    memory_network network_{1000};
};

class simulated_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::make_unique<simulated_transport>(loop_, network_); }
    std::size_t too_much() const override { return 256 * KiB; }

private:
    event_loop loop_{event_loop::virtual_time};
    simulated_network network_{4711};
};

class tcp_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::move(tcp_transport::listen(loop_)).value(); }
    std::size_t too_much() const override { return 16 * MiB; }

private:
    event_loop loop_;
};

class shm_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::move(shm_transport::listen(loop_)).value(); }
    std::size_t too_much() const override { return 16 * MiB; }

private:
    event_loop loop_;
};

/// Both, where shared memory is taken.
class host_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override {
        return std::make_unique<host_transport>(loop_, std::move(tcp_transport::listen(loop_)).value(),
                                                std::move(shm_transport::listen(loop_)).value(),
                                                [this](const std::string& what) { told += what; });
    }
    std::size_t too_much() const override { return 16 * MiB; }

    std::string told;

private:
    event_loop loop_;
};

class shared_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::make_unique<multiplexed_transport>(loop_); }
    std::size_t too_much() const override { return 16 * MiB; }

private:
    event_loop loop_;
};

/// Does something on the loop after a while.
class later final {
public:
    later(event_loop& loop, duration delay, std::function<void()> what) : loop_(loop), what_(std::move(what)) {
        loop_.start_timer(alarm_, loop_.now() + delay);
    }
    ~later() { loop_.stop_timer(alarm_); }

private:
    void due() noexcept { what_(); }

    event_loop& loop_;
    std::function<void()> what_;
    detail::alarm<&later::due> alarm_{*this};
};

/// A little longer than anything takes that needs no more than a few turns of the loop: counted in turns, of which a machine that stalls costs
/// one.
inline task<> a_while() {
    for (int turn = 0; turn < 20; ++turn) co_await sleep_for(std::chrono::milliseconds(1));
}

/// A task that goes on while the test does something else.
template <class T>
class background final : detail::task_owner {
public:
    background(event_loop& loop, task<T> work, cancel_token token = cancel_token()) : work_(std::move(work)) {
        work_.inner()->start(loop, token, *this);
    }
    bool ended() const { return ended_; }
    T take() { return work_.inner()->take(); }

private:
    void ended(detail::promise_base&) noexcept override { ended_ = true; }

    task<T> work_;
    bool ended_ = false;
};

struct link_pair {
    link_pair(std::unique_ptr<link> a, std::unique_ptr<link> b) : one(std::move(a)), other(std::move(b)) {}
    std::unique_ptr<link> one;
    std::unique_ptr<link> other;
};

inline task<link_pair> open(event_loop& loop, transport& from, transport& to) {
    auto one = co_await from.connect(to.address(), loop.now() + std::chrono::seconds{5});
    auto other = co_await to.accept();
    co_return link_pair(std::move(one).value(), std::move(other).value());
}

/// Two transports and a link between them.
struct connected {
    explicit connected(stage& on) : client(on.make()), server(on.make()), ends(run(on.loop(), open(on.loop(), *client, *server))) {}
    std::unique_ptr<transport> client;
    std::unique_ptr<transport> server;
    link_pair ends;
};

}  // namespace tutti::test
