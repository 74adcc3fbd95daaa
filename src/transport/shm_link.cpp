#include "transport/shm_link.hpp"

#include "transport/shm_ring.hpp"
#include "transport/socket_wait.hpp"
#include "transport/watcher.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>

namespace tutti {
namespace {

/// The states of both rings, then the bytes of both. The first ring is that of the side that connected.
struct shared_rings {
    ring_state states[2];
    alignas(4096) std::byte bytes[2][ring_bytes];
};

constexpr char memory_comes = 'm', wake_up = 'w';

class shm_link final : public link {
public:
    shm_link(event_loop& loop, local_protocol::socket socket, std::string peer)
        : socket_(std::move(socket)),
          handle_(socket_.native_handle()),
          bell_(loop),
          reader_(loop),
          writer_(loop),
          peer_(std::move(peer)) {}
    ~shm_link() override { close(); }

    /// `mine` is the ring in which this side sends.
    void attach(mapping memory, int mine) {
        memory_ = std::move(memory);
        auto* const both = reinterpret_cast<shared_rings*>(memory_.data());
        sender_.emplace(ring{&both->states[mine], both->bytes[mine]});
        receiver_.emplace(ring{&both->states[1 - mine], both->bytes[1 - mine]});
    }
    /// Takes what has come through the socket: the memory, wishes to wake up, the end.
    void hear() noexcept {
        local_news news = hear_news(handle_);
        if (news.code) gone_ = news.code;
        if (gone_ || news.bytes == 0 || memory_) return;
        auto memory = mapping::of(news.file, sizeof(shared_rings), mapping::access::write);
        if (memory) attach(std::move(*memory), 1);
        else gone_ = memory.failure().code();
    }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        if (gone_ || !sender_) return {0, gone_};
        const moved done = sender_->send(parts);
        if (done.bytes > 0 && sender_->must_wake()) send_byte(handle_, wake_up);
        return done;
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        moved done;
        if (receiver_) done = receiver_->recv(parts);
        if (done.bytes > 0 && receiver_->must_wake()) send_byte(handle_, wake_up);
        if (done.bytes == 0 && !done.code) done.code = gone_;
        return done;
    }

    void when_readable(detail::runnable& work) noexcept override {
        if (!socket_.is_open()) return;
        reader_.expect(work);
        reading_ = true;
        wait();
    }
    void when_writable(detail::runnable& work) noexcept override {
        if (!socket_.is_open()) return;
        writer_.expect(work);
        writing_ = true;
        wait();
    }

    void close() noexcept override {
        for (watcher* each : {&reader_, &writer_}) {
            each->disarm();
            each->forget();
        }
        reading_ = writing_ = false;
        bell_.forget();
        boost::system::error_code ignored;
        socket_.close(ignored);
        if (!gone_) gone_ = error::closed;
        sender_.reset();
        receiver_.reset();
        memory_ = mapping();
    }

    std::string peer() const override { return peer_; }

private:
    /// Posts who waits for what is there, and listens for the bell when somebody waits on.
    void wait() noexcept {
        if (reading_ && may_end(receiver_)) {
            reading_ = false;
            reader_.wake();
        }
        if (writing_ && may_end(sender_)) {
            writing_ = false;
            writer_.wake();
        }
        if ((reading_ || writing_) && !std::exchange(listening_, true)) bell_.start(socket_, local_protocol::socket::wait_read, heard_);
    }
    /// Having wished to be woken one must look again: the other side may have moved before it saw the wish.
    template <class Side>
    bool may_end(std::optional<Side>& side) noexcept {
        if (gone_) return true;
        if (!side) return false;
        if (side->ready()) return true;
        side->sleep(true);
        if (!side->ready()) return false;
        side->sleep(false);
        return true;
    }
    void heard() noexcept {
        listening_ = false;
        hear();
        wait();
    }

    local_protocol::socket socket_;
    const int handle_;
    socket_wait bell_;
    watcher reader_;
    watcher writer_;
    const std::string peer_;
    mapping memory_;
    std::optional<ring_sender> sender_;
    std::optional<ring_receiver> receiver_;
    std::error_code gone_;  // nothing more is sent, and nothing comes beyond what is in the ring
    bool reading_ = false;
    bool writing_ = false;
    bool listening_ = false;
    detail::callback<&shm_link::heard> heard_{*this};
};

local_protocol::socket local_socket(event_loop& loop, file_handle from) {
    return local_protocol::socket(executor_of(loop), local_protocol(), from.release());
}

}  // namespace

result<std::unique_ptr<link>> open_shm_link(event_loop& loop, file_handle connected, std::string peer) {
    auto file = make_shared_file("tutti-link", sizeof(shared_rings));
    if (!file) return file.failure();
    auto memory = mapping::of(*file, sizeof(shared_rings), mapping::access::write);
    if (!memory) return memory.failure();
    new (memory->data()) shared_rings;
    if (!send_byte(connected.number(), memory_comes, &*file)) return failure(error::system, "the shared memory could not be handed over");
    auto made = std::make_unique<shm_link>(loop, local_socket(loop, std::move(connected)), std::move(peer));
    made->attach(std::move(*memory), 0);
    return std::unique_ptr<link>(std::move(made));
}

std::unique_ptr<link> accept_shm_link(event_loop& loop, local_protocol::socket accepted) {
    const int handle = accepted.native_handle();
    if (!same_user(handle)) return nullptr;
    auto made = std::make_unique<shm_link>(loop, std::move(accepted), fmt::format("shm:process {}", process_at(handle)));
    made->hear();
    return made;
}

}  // namespace tutti
