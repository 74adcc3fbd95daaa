#include "transport/simulated_line.hpp"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::uint64_t fnv_prime = 1099511628211u;

void wake_watcher(watcher* who) noexcept {
    if (who != nullptr) who->wake();
}

}  // namespace

void simulated_history::note(time_point when, event what, std::uint64_t line, std::uint64_t bytes) noexcept {
    for (const std::uint64_t word : {static_cast<std::uint64_t>(when.time_since_epoch().count()), std::uint64_t{what}, line, bytes})
        hash_ = (hash_ ^ word) * fnv_prime;
}

simulated_line::simulated_line(event_loop& loop, simulated_history& history, line_options options, std::uint64_t name)
    : loop_(loop),
      history_(history),
      options_(options),
      name_(name),
      bytes_(options.window_bytes) {}

std::size_t simulated_line::part_of(std::size_t possible) {
    if (!options_.partial_moves || possible <= 1) return possible;
    // Single bytes show mistakes in framing, so they come more often than by chance.
    return history_.up_to(7) == 0 ? 1 : 1 + static_cast<std::size_t>(history_.up_to(possible - 1));
}

std::size_t simulated_line::send(std::span<const std::span<const std::byte>> parts) {
    const auto bytes = bytes_.put(parts, part_of(std::min(total_bytes(parts), room())));
    if (bytes == 0) return 0;
    history_.note(loop_.now(), simulated_history::sent, name_, bytes);
    depart(bytes);
    return bytes;
}

std::size_t simulated_line::recv(std::span<const std::span<std::byte>> parts) {
    const auto bytes = bytes_.take(parts, part_of(std::min(total_bytes(parts), arrived_)));
    if (bytes == 0) return 0;
    arrived_ -= bytes;
    history_.note(loop_.now(), simulated_history::received, name_, bytes);
    wake_watcher(sender);
    return bytes;
}

void simulated_line::end() {
    history_.note(loop_.now(), simulated_history::closed, name_);
    depart(0);
}

void simulated_line::cut() noexcept {
    segments_.clear();
    loop_.stop_timer(arrival_);
    wake_watcher(sender);
    wake_watcher(receiver);
}

void simulated_line::depart(std::size_t bytes) {
    free_at_ = std::max(free_at_, loop_.now());
    if (options_.bytes_per_second > 0)
        free_at_ += duration{static_cast<duration::rep>(static_cast<double>(bytes) / options_.bytes_per_second * 1e9)};
    const duration jitter{static_cast<duration::rep>(history_.up_to(static_cast<std::uint64_t>(options_.jitter.count())))};
    last_arrival_ = std::max(last_arrival_, free_at_ + options_.latency + jitter);
    segments_.push_back({last_arrival_, bytes});
    if (!arrival_.started()) loop_.start_timer(arrival_, last_arrival_);
}

void simulated_line::arrive() noexcept {
    for (; !segments_.empty() && segments_.front().arrival <= loop_.now(); segments_.pop_front()) {
        const auto bytes = segments_.front().bytes;
        arrived_ += bytes;
        if (bytes == 0) ended_ = true;
        history_.note(loop_.now(), bytes == 0 ? simulated_history::ended : simulated_history::arrived, name_, bytes);
    }
    if (!segments_.empty()) loop_.start_timer(arrival_, segments_.front().arrival);
    wake_watcher(receiver);
    if (ended_) wake_watcher(*back);
}

}  // namespace tutti
