#include "transport/memory_link.hpp"

#include "transport/byte_queue.hpp"
#include "transport/watcher.hpp"

#include <limits>
#include <mutex>

namespace tutti {
namespace {

constexpr auto unlimited = std::numeric_limits<std::size_t>::max();

/// The state that both ends share, and the last one destroys; `side` is 0 or 1 everywhere.
struct channel {
    explicit channel(std::size_t capacity_bytes) : sent{byte_queue{capacity_bytes}, byte_queue{capacity_bytes}} {}

    std::mutex mutex;
    byte_queue sent[2];  // by that side
    bool closed[2] = {};
    watcher* reader[2] = {};  // of that side, while it is open
    watcher* writer[2] = {};
};

void wake(watcher* who) noexcept {
    if (who != nullptr) who->wake();
}

class memory_link final : public link {
public:
    memory_link(std::shared_ptr<channel> both, int side, event_loop& loop, std::string peer)
        : both_(std::move(both)),
          mine_(side),
          theirs_(1 - side),
          reader_(loop),
          writer_(loop),
          peer_(std::move(peer)) {
        both_->reader[mine_] = &reader_;
        both_->writer[mine_] = &writer_;
    }
    ~memory_link() override {
        if (!moved_) close();
    }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        const std::scoped_lock lock{both_->mutex};
        if (both_->closed[mine_]) return {0, error::closed};
        if (both_->closed[theirs_]) return {0, error::peer_died};
        const auto bytes = both_->sent[mine_].put(parts, unlimited);
        if (bytes > 0) wake(both_->reader[theirs_]);
        return {bytes, {}};
    }

    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        const std::scoped_lock lock{both_->mutex};
        if (both_->closed[mine_]) return {0, error::closed};
        auto& source = both_->sent[theirs_];
        if (source.size() == 0 && both_->closed[theirs_]) return {0, error::peer_died};
        const auto bytes = source.take(parts, unlimited);
        if (bytes > 0) wake(both_->writer[theirs_]);
        return {bytes, {}};
    }

    void when_readable(detail::runnable& work) noexcept override {
        const std::scoped_lock lock{both_->mutex};
        if (both_->closed[mine_]) return;
        reader_.expect(work);
        if (both_->sent[theirs_].size() > 0 || both_->closed[theirs_]) reader_.wake();
    }

    void when_writable(detail::runnable& work) noexcept override {
        const std::scoped_lock lock{both_->mutex};
        if (both_->closed[mine_]) return;
        writer_.expect(work);
        if (both_->sent[mine_].room() > 0 || both_->closed[theirs_]) writer_.wake();
    }

    void close() noexcept override {
        {
            const std::scoped_lock lock{both_->mutex};
            if (std::exchange(both_->closed[mine_], true)) return;
            reader_.disarm();
            writer_.disarm();
            both_->reader[mine_] = both_->writer[mine_] = nullptr;
            wake(both_->reader[theirs_]);
            wake(both_->writer[theirs_]);
        }
        reader_.forget();
        writer_.forget();
    }

    std::unique_ptr<link> move_to(event_loop& other) noexcept override {
        const std::scoped_lock lock{both_->mutex};
        if (std::exchange(moved_, true) || both_->closed[mine_]) return nullptr;
        return std::make_unique<memory_link>(both_, mine_, other, peer_);
    }

    std::string peer() const override { return peer_; }

private:
    const std::shared_ptr<channel> both_;
    const int mine_;
    const int theirs_;
    watcher reader_;
    watcher writer_;
    const std::string peer_;
    bool moved_ = false;
};

}  // namespace

std::pair<std::unique_ptr<link>, std::unique_ptr<link>> make_memory_links(memory_end first, memory_end second, std::size_t capacity_bytes) {
    auto both = std::make_shared<channel>(capacity_bytes);
    auto left = std::make_unique<memory_link>(both, 0, first.loop, second.name);
    auto right = std::make_unique<memory_link>(both, 1, second.loop, first.name);
    return {std::move(left), std::move(right)};
}

}  // namespace tutti
