// Moves a buffer out of and another into a link, as far and as soon as it can. It uses the link as the engine does: by watchers.
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace tutti::test {

using bytes = std::vector<std::byte>;

inline bytes random_bytes(std::size_t count, std::uint64_t seed) {
    bytes made(count);
    std::mt19937_64 random{seed};
    for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
        const auto word = random();
        std::memcpy(made.data() + i, &word, std::min(count - i, sizeof word));
    }
    return made;
}

class pump {
public:
    /// `when_ended` is called once: everything was sent and received, or the link failed.
    pump(link& over, bytes out, std::size_t in_bytes, std::function<void()> when_ended)
        : over_(over), out_(std::move(out)), in_(in_bytes), when_ended_(std::move(when_ended)) {}

    void start() {
        sending();
        receiving();
    }
    void start_sending() { sending(); }
    void start_receiving() { receiving(); }

    const bytes& received() const { return in_; }
    std::size_t sent_bytes() const { return sent_; }
    std::size_t received_bytes() const { return received_; }
    std::error_code send_code() const { return send_code_; }
    std::error_code recv_code() const { return recv_code_; }
    bool ended() const { return (sent_ == out_.size() || send_code_) && (received_ == in_.size() || recv_code_); }
    int waits() const { return waits_; }

private:
    void sending() noexcept {
        while (sent_ < out_.size() && !send_code_) {
            // In two parts, the second often empty.
            const auto rest = std::span<const std::byte>(out_).subspan(sent_);
            const std::span<const std::byte> parts[] = {rest.first(rest.size() / 2), rest.subspan(rest.size() / 2)};
            const auto now = over_.try_send(parts);
            sent_ += now.bytes;
            send_code_ = now.code;
            if (now.bytes == 0 && !now.code) {
                ++waits_;
                return over_.when_writable(writable_);
            }
        }
        check();
    }
    void receiving() noexcept {
        while (received_ < in_.size() && !recv_code_) {
            const auto rest = std::span(in_).subspan(received_);
            const std::span<std::byte> parts[] = {rest.first(rest.size() / 3), {}, rest.subspan(rest.size() / 3)};
            const auto now = over_.try_recv(parts);
            received_ += now.bytes;
            recv_code_ = now.code;
            if (now.bytes == 0 && !now.code) {
                ++waits_;
                return over_.when_readable(readable_);
            }
        }
        check();
    }
    void check() {
        if (ended() && when_ended_) std::exchange(when_ended_, nullptr)();
    }

    link& over_;
    bytes out_;
    bytes in_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
    std::error_code send_code_;
    std::error_code recv_code_;
    int waits_ = 0;
    std::function<void()> when_ended_;
    detail::callback<&pump::sending> writable_{*this};
    detail::callback<&pump::receiving> readable_{*this};
};

}  // namespace tutti::test
