// A loop and some transports of one kind that can reach each other: what the tests of all transports have in common.
#pragma once

#include "transport/host_transport.hpp"
#include "transport/memory_transport.hpp"
#include "transport/shared_link.hpp"
#include "transport/shm_transport.hpp"
#include "transport/simulated_transport.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/event.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>
#include <tutti/transport.hpp>
#include <tutti/when_all.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::test {

class stage {
public:
    virtual ~stage() = default;
    virtual event_loop& loop() = 0;
    virtual std::unique_ptr<transport> make() = 0;
    /// What a link certainly cannot hold, so that the sender has to wait.
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

/// Streams over one shared link from each transport to each other, which is a socket.
class shared_transport final : public transport, private shared_link_owner {
public:
    explicit shared_transport(event_loop& loop) : loop_(loop), network_(std::move(tcp_transport::listen(loop)).value()) {}
    ~shared_transport() override {
        for (const auto& each : links_) each->close();
    }

    std::string address() const override { return network_->address(); }
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override {
        auto& over = dialled_[address];
        if (!over || over->ended()) {
            auto made = co_await network_->connect(address, deadline);
            if (!made) co_return made;
            over = keep(std::move(*made), shared_link::side::dialled);
        }
        co_return over->open();
    }
    task<result<std::unique_ptr<link>>> accept() override {
        std::optional<failure> why;
        try {
            while (streams_.empty() && !why) {
                // Until a peer opens a stream over a link that is there, or a new link comes, which brings one at once.
                auto either = when_any(some_stream(), network_->accept());
                auto which = co_await std::move(either);
                if (which.index() == 0) continue;
                auto& came = std::get<1>(which);
                if (came) keep(std::move(*came), shared_link::side::accepted);
                else why = came.failure();
            }
        } catch (const failure& caught) {
            why = caught;
        }
        if (why) co_return std::move(*why);
        auto first = std::move(streams_.front());
        streams_.pop_front();
        co_return std::move(first);
    }
    void close() noexcept override { network_->close(); }

private:
    std::shared_ptr<shared_link> keep(std::unique_ptr<link> over, shared_link::side which) {
        links_.emplace_back(new shared_link(loop_, std::move(over), which, *this));
        links_.back()->start();
        return links_.back();
    }
    task<bool> some_stream() {
        while (streams_.empty()) co_await opened_.wait();
        co_return true;
    }
    void opened(std::unique_ptr<link> stream) override {
        streams_.push_back(std::move(stream));
        opened_.notify_all();
    }
    void ended(shared_link&) noexcept override {}

    event_loop& loop_;
    const std::unique_ptr<tcp_transport> network_;
    std::map<std::string, std::shared_ptr<shared_link>> dialled_;
    std::vector<std::shared_ptr<shared_link>> links_;
    std::deque<std::unique_ptr<link>> streams_;
    condition opened_;
};

class shared_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::make_unique<shared_transport>(loop_); }
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
