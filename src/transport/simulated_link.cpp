#include "transport/simulated_link.hpp"

#include <system_error>

namespace tutti {
namespace {

class simulated_link final : public link {
public:
    simulated_link(std::shared_ptr<simulated_channel> both, int side, std::string peer)
        : both_(std::move(both)),
          outgoing_(both_->sent[side]),
          incoming_(both_->sent[1 - side]),
          closed_(both_->closed[side]),
          theirs_closed_(both_->closed[1 - side]),
          reader_(both_->loop),
          writer_(both_->loop),
          peer_(std::move(peer)) {
        outgoing_.sender = &writer_;
        incoming_.receiver = &reader_;
    }
    ~simulated_link() override { close(); }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        if (closed_) return {0, error::closed};
        if (both_->broken) return {0, broken()};
        if (incoming_.ended()) return {0, error::peer_died};
        return {outgoing_.send(parts), {}};
    }

    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        if (closed_) return {0, error::closed};
        if (both_->broken) return {0, broken()};
        if (incoming_.ended() && incoming_.arrived_bytes() == 0) return {0, error::peer_died};
        return {incoming_.recv(parts), {}};
    }

    void when_readable(detail::runnable& work) noexcept override {
        if (closed_) return;
        reader_.expect(work);
        if (incoming_.arrived_bytes() > 0 || incoming_.ended() || both_->broken) reader_.wake();
    }

    void when_writable(detail::runnable& work) noexcept override {
        if (closed_) return;
        writer_.expect(work);
        if (outgoing_.room() > 0 || incoming_.ended() || both_->broken) writer_.wake();
    }

    void close() noexcept override {
        if (std::exchange(closed_, true)) return;
        outgoing_.sender = nullptr;
        incoming_.receiver = nullptr;
        reader_.forget();
        writer_.forget();
        if (!both_->broken && !theirs_closed_) outgoing_.end();
    }

    std::string peer() const override { return peer_; }

private:
    static std::error_code broken() noexcept { return std::make_error_code(std::errc::connection_reset); }

    const std::shared_ptr<simulated_channel> both_;
    simulated_line& outgoing_;
    simulated_line& incoming_;
    bool& closed_;
    const bool& theirs_closed_;
    watcher reader_;
    watcher writer_;
    const std::string peer_;
};

}  // namespace

simulated_channel::simulated_channel(event_loop& on, std::shared_ptr<simulated_history> events, const line_options& there,
                                     const line_options& back, std::uint64_t number)
    : loop(on),
      history(std::move(events)),
      name(number),
      sent{{on, *history, there, 2 * number}, {on, *history, back, 2 * number + 1}} {
    sent[0].back = &sent[1].sender;
    sent[1].back = &sent[0].sender;
}

void simulated_channel::break_off() noexcept {
    if (std::exchange(broken, true)) return;
    history->note(loop.now(), simulated_history::broken, name);
    for (auto& line : sent) line.cut();
}

std::unique_ptr<link> make_simulated_link(std::shared_ptr<simulated_channel> both, int side, std::string peer) {
    return std::make_unique<simulated_link>(std::move(both), side, std::move(peer));
}

}  // namespace tutti
