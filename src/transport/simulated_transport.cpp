#include "transport/simulated_transport.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tutti {
namespace {

/// Returns the rank in an address of this network; -1 for any other text.
rank rank_of(std::string_view address) {
    rank number = -1;
    const auto digits = address.substr(address.find(':') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

}  // namespace

simulated_network::simulated_network(std::uint64_t seed, line_options every_line)
    : every_line_(every_line),
      history_(std::make_shared<simulated_history>(seed)) {}

simulated_network::~simulated_network() {
    for (const auto* one : transports_) TUTTI_CHECK(one == nullptr, "a simulated network outlives its transports");
}

line_options simulated_network::line(rank from, rank to) const {
    const auto found = lines_.find({from, to});
    return found == lines_.end() ? every_line_ : found->second;
}

void simulated_network::set(rank from, rank to, const line_options& options) {
    lines_.insert_or_assign({from, to}, options);
    for (const auto& one : open_) {
        const auto channel = one.channel.lock();
        if (channel == nullptr) continue;
        if (one.from == from && one.to == to) channel->sent[0].set(options);
        if (one.from == to && one.to == from) channel->sent[1].set(options);
    }
}

void simulated_network::kill(rank who) {
    break_off([who](const opened& one) { return one.from == who || one.to == who; });
    if (transports_.at(static_cast<std::size_t>(who)) != nullptr) transports_[static_cast<std::size_t>(who)]->close();
}

void simulated_network::reset(rank one, rank other) {
    break_off([=](const opened& any) { return (any.from == one && any.to == other) || (any.from == other && any.to == one); });
}

template <class Choice>
void simulated_network::break_off(Choice chosen) {
    for (const auto& one : open_)
        if (chosen(one))
            if (const auto channel = one.channel.lock()) channel->break_off();
}

std::shared_ptr<simulated_channel> simulated_network::open(event_loop& loop, rank from, rank to) {
    std::erase_if(open_, [](const opened& one) { return one.channel.expired(); });
    auto channel = std::make_shared<simulated_channel>(loop, history_, line(from, to), line(to, from), opened_++);
    open_.push_back({from, to, channel});
    return channel;
}

simulated_transport::simulated_transport(event_loop& loop, simulated_network& network)
    : loop_(loop),
      network_(network),
      accepting_(loop),
      rank_(static_cast<rank>(network.transports_.size())),
      address_(network.board_.open(accepting_)) {
    network_.transports_.push_back(this);
}

simulated_transport::~simulated_transport() {
    close();
    network_.transports_[static_cast<std::size_t>(rank_)] = nullptr;
}

task<result<std::unique_ptr<link>>> simulated_transport::connect(std::string address, time_point deadline) {
    connect_retry tries{loop_, connecting_, address, deadline, network_.history_->up_to(1'000'000)};
    while (tries.open()) {
        // A connection takes one round trip.
        const auto there = network_.line(rank_, rank_of(address)).latency;
        const auto back = network_.line(rank_of(address), rank_).latency;
        if (!co_await tries.pause(there + back)) break;
        std::unique_ptr<link> mine;
        auto reason = open_link(address, mine);
        if (reason.empty()) co_return mine;
        co_await tries.again(std::move(reason), true);
    }
    co_return tries.why();
}

std::string simulated_transport::open_link(const std::string& address, std::unique_ptr<link>& mine) {
    return network_.board_.offer(address, [&](event_loop& their_loop) {
        TUTTI_CHECK(&their_loop == &loop_, "a simulated network has one loop");
        auto both = network_.open(loop_, rank_, rank_of(address));
        mine = make_simulated_link(both, 0, address);
        return make_simulated_link(std::move(both), 1, address_);
    });
}

void simulated_transport::close() noexcept {
    network_.board_.close(address_);
    accepting_.close();
    connecting_.close();
}

}  // namespace tutti
