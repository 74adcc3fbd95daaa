// A transport whose links are the streams of multiplexed links, for the tests of all transports.
#pragma once

#include "transport/multiplexed_link.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/event.hpp>
#include <tutti/task.hpp>
#include <tutti/transport.hpp>
#include <tutti/when_all.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::test {

/// Streams over one multiplexed link from each transport to each other, which is a socket.
class multiplexed_transport final : public transport, private multiplexed_link_owner {
public:
    explicit multiplexed_transport(event_loop& loop) : loop_(loop), network_(std::move(tcp_transport::listen(loop)).value()) {}
    ~multiplexed_transport() override {
        for (const auto& each : links_) each->close();
    }

    std::string address() const override { return network_->address(); }
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override {
        auto& over = dialled_[address];
        if (!over || over->ended()) {
            auto made = co_await network_->connect(address, deadline);
            if (!made) co_return made;
            over = keep(std::move(*made), multiplexed_link::side::dialled);
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
                if (came) keep(std::move(*came), multiplexed_link::side::accepted);
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
    std::shared_ptr<multiplexed_link> keep(std::unique_ptr<link> over, multiplexed_link::side which) {
        links_.emplace_back(new multiplexed_link(loop_, std::move(over), which, *this));
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
    void ended(multiplexed_link&) noexcept override {}

    event_loop& loop_;
    const std::unique_ptr<tcp_transport> network_;
    std::map<std::string, std::shared_ptr<multiplexed_link>> dialled_;
    std::vector<std::shared_ptr<multiplexed_link>> links_;
    std::deque<std::unique_ptr<link>> streams_;
    condition opened_;
};

}  // namespace tutti::test
