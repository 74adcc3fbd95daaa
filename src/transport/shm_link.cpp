#include "transport/shm_link.hpp"

#include "runtime/poll_source.hpp"
#include "transport/copy_runs.hpp"
#include "transport/near_link.hpp"
#include "transport/shm_ring.hpp"
#include "transport/socket_wait.hpp"
#include "transport/staging_buffers.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <array>
#include <new>
#include <optional>
#include <thread>

namespace tutti {
namespace {

/// The shared file: states of both rings, their bytes, and the staging buffers of each side. Index 0 is the side that connected.
struct shared_rings {
    ring_state states[2];
    alignas(4096) std::byte bytes[2][ring_bytes];
    alignas(4096) std::byte lent[2][staging_buffers::all_bytes];
};

constexpr char memory_comes = 'm', arena_comes = 'a', wake_up = 'w';

class shm_link;

/// The events to wait for: bytes or a cell, room for them, and the return of lent memory.
enum class awaited { arrival, room, returns };

/// Looks at the shared memory at each try of the loop. When the loop asks the kernel (`arm`), this asks the peer for a wake-up byte.
class shm_wait final : public detail::poll_source {
public:
    shm_wait(event_loop& loop, shm_link& over, awaited what) noexcept : poll_source(loop), over_(over), what_(what) {}
    ~shm_wait() { forget(); }

    /// Calls `work` once, when it may end. One at a time.
    void start(detail::runnable& work) noexcept {
        TUTTI_CHECK(work_ == nullptr, "one watcher of each kind at a time");
        work_ = &work;
        wait();
    }
    bool waits() const noexcept { return work_ != nullptr; }
    void forget() noexcept {
        if (std::exchange(work_, nullptr) != nullptr) stop_waiting();
    }
    /// The socket has become readable.
    void look() noexcept;

private:
    void run() noexcept override;
    void arm() override;

    shm_link& over_;
    const awaited what_;
    bool wished_ = false;  // for a wake-up byte
    detail::runnable* work_ = nullptr;
};

class shm_link final : public link, private near_link {
public:
    shm_link(event_loop& loop, local_protocol::socket socket, std::string peer, std::shared_ptr<arena> mine)
        : socket_(std::move(socket)),
          handle_(socket_.native_handle()),
          wakeups_(loop, socket_, local_protocol::socket::wait_read),
          reader_(loop, *this, awaited::arrival),
          writer_(loop, *this, awaited::room),
          lender_(loop, *this, awaited::returns),
          peer_(std::move(peer)),
          mine_(std::move(mine)) {
        writer_.expect(true);
        lender_.expect(true);
    }
    ~shm_link() override { close(); }

    /// `mine` is the ring in which this side sends.
    void attach(mapping memory, int mine) {
        memory_ = std::move(memory);
        auto* const both = reinterpret_cast<shared_rings*>(memory_.data());
        out_ = &both->states[mine];
        in_ = &both->states[1 - mine];
        sender_.emplace(ring{out_, both->bytes[mine]});
        receiver_.emplace(ring{in_, both->bytes[1 - mine]});
        own_ = both->lent[mine];
        other_ = both->lent[1 - mine];
    }
    /// Takes what has come through the socket: the memory, wake-ups, the end. Returns whether anything has, and more may come.
    bool hear() noexcept {
        local_news news = hear_news(handle_);
        if (news.code && !gone_) gone_ = news.code;
        const bool any = !gone_ && news.bytes > 0;
        if (any && !memory_) take_memory(news.file);
        else if (any && news.file && !theirs_) take_arena(news.file);
        for (shm_wait* each : {&reader_, &writer_, &lender_}) each->look();
        return any;
    }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        if (gone_ || !sender_) return {0, gone_};
        const moved done = sender_->send(parts);
        sent();  // also without bytes: their cell has not woken the receiver
        return done;
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override { return recv(parts, false); }

    void when_readable(detail::runnable& work) noexcept override { read_when(false, work); }
    void when_writable(detail::runnable& work) noexcept override {
        if (socket_.is_open()) writer_.start(work);
    }
    void expect(bool soon) noexcept override { reader_.expect(soon); }

    std::unique_ptr<link> move_to(event_loop& other) noexcept override {
        for (shm_wait* each : {&reader_, &writer_, &lender_}) each->forget();
        wakeups_.forget();
        boost::system::error_code code;
        file_descriptor handle(socket_.release(code));
        if (code) return nullptr;
        local_protocol::socket there(io_of(other));
        if (there.assign(local_protocol(), handle.number(), code)) return nullptr;
        handle.release();
        auto made = std::make_unique<shm_link>(other, std::move(there), peer_, mine_);
        made->continue_from(*this);
        return made;
    }

    near_link* near() noexcept override { return this; }

    void close() noexcept override {
        for (shm_wait* each : {&reader_, &writer_, &lender_}) each->forget();
        wakeups_.forget();
        boost::system::error_code ignored;
        socket_.close(ignored);
        if (!gone_) gone_ = error::closed;
        sender_.reset();
        receiver_.reset();
        out_ = in_ = nullptr;
        own_ = other_ = {};
        memory_ = mapping();
        theirs_.reset();
    }

    std::string peer() const override { return peer_; }

    /// Returns whether a wait may end.
    bool may_end(awaited what) noexcept {
        if (gone_) return true;
        if (!memory_) return false;
        switch (what) {
            case awaited::arrival: return has_arrived();
            case awaited::room: return sender_->ready();
            case awaited::returns: return out_->returned.load() != seen_;
        }
        return true;
    }
    /// Asks the peer for a wake-up when a wait may end. The peer may have moved before it saw the wish, so the caller looks again.
    void wish(awaited what) {
        if (memory_) wish_for(what).store(what == awaited::room ? sender_->wish() : 1);
        if (std::exchange(listening_, true)) return;
        wakeups_.start(heard_);
        static_cast<detail::poll_source&>(wakeups_).arm();
    }

    /// Takes the wish back: the loop looks by itself again.
    void take_back(awaited what) noexcept {
        if (memory_) wish_for(what).store(0, std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint32_t>& wish_for(awaited what) noexcept {
        return what == awaited::arrival ? in_->receiver_sleeps : what == awaited::room ? out_->sender_sleeps : out_->lender_sleeps;
    }
    moved recv(std::span<const std::span<std::byte>> parts, bool past_caches) noexcept {
        moved done;
        if (receiver_) {
            receiver_->keep_pace(reader_.undisturbed());
            done = receiver_->recv(parts, past_caches);
        }
        if (done.bytes > 0) received();
        if (done.bytes == 0 && !done.code) done.code = gone_;
        return done;
    }
    moved recv_past_caches(std::span<const std::span<std::byte>> parts) noexcept override { return recv(parts, true); }
    moved peek(std::span<const std::byte>& run) noexcept override {
        moved done = receiver_ ? receiver_->peek(run) : moved();
        if (done.bytes == 0 && !done.code) done.code = gone_;
        return done;
    }
    void skip(std::size_t bytes) noexcept override {
        receiver_->keep_pace(reader_.undisturbed());
        receiver_->skip(bytes);
        received();
    }
    bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept override {
        if (gone_ || !sender_) return false;
        if (!sender_->send_cell(head, behind)) {
            if (sender_->broken()) gone_ = error::protocol_error;
            return false;
        }
        if (!is_followed(head)) sent();  // else when the payload is there, too
        return true;
    }
    bool take_cell(frame& head, cell_contents& behind) noexcept override {
        if (!receiver_ || !receiver_->take_cell(head, behind)) return false;
        if (receiver_->must_wake_for_cells()) send_byte(handle_, wake_up);
        reader_.stir();
        return true;
    }
    void when_cell(detail::runnable& work) noexcept override { read_when(true, work); }
    bool has_arrived() noexcept { return for_cell_ ? receiver_->has_cell() : receiver_->ready(); }
    void read_when(bool cell, detail::runnable& work) noexcept {
        if (!socket_.is_open()) return;
        for_cell_ = cell;
        reader_.start(work);
    }
    bool end_wait() noexcept override {
        if (!reader_.waits() || !receiver_ || !has_arrived()) return false;
        reader_.forget();
        return true;
    }
    bool undisturbed() const noexcept override { return reader_.undisturbed(); }
    std::span<std::byte> spare() noexcept override { return own_; }
    std::optional<reference> locate(std::span<const std::byte> run) noexcept override {
        const auto begin = reinterpret_cast<std::uintptr_t>(own_.data()), at = reinterpret_cast<std::uintptr_t>(run.data());
        if (at >= begin && at - begin < own_.size()) return reference{(at - begin) | reference::of_link, run.size()};
        const auto offset = mine_->locate(run);
        if (!offset || gone_ || !sender_) return std::nullopt;
        if (!arena_sent_) arena_sent_ = send_byte(handle_, arena_comes, &mine_->file());
        return arena_sent_ ? std::optional(reference{*offset, run.size()}) : std::nullopt;
    }
    std::uint64_t returned() noexcept override { return out_ ? out_->returned.load() : 0; }
    void when_returned(std::uint64_t seen, detail::runnable& work) noexcept override {
        if (!socket_.is_open()) return;
        seen_ = seen;
        lender_.start(work);
    }
    std::span<std::byte> borrow(reference what) noexcept override {
        if ((what.offset & reference::of_link) != 0) return part_of(other_, {what.offset & ~reference::of_link, what.bytes});
        while (!theirs_ && hear()) {}  // its file was sent before the first reference, perhaps among wake-ups
        return theirs_ ? part_of({theirs_->data(), theirs_->size()}, what) : std::span<std::byte>();
    }
    std::error_code trouble() const noexcept override { return gone_; }
    bool begin_writing() noexcept override {
        if (!in_) return false;
        in_->writing.store(1);
        const bool allowed = in_->revoked.load() == 0;  // the revoking side sets `revoked`, then reads `writing`
        if (!allowed) in_->writing.store(0);
        return allowed;
    }
    void end_writing() noexcept override {
        if (in_) in_->writing.store(0);
    }
    bool write_back(std::span<const reference> where, std::span<const std::span<const std::byte>> what) noexcept override {
        std::array<std::span<std::byte>, most_references> targets;
        if (where.size() > targets.size()) return false;
        std::size_t missing = 0;
        for (const auto& each : what) missing += each.size();
        for (std::size_t index = 0; index < where.size(); ++index) {
            targets[index] = borrow(where[index]);
            if (targets[index].size() != where[index].bytes || where[index].bytes > missing) return false;
            missing -= targets[index].size();
        }
        if (missing > 0 || !begin_writing()) return false;
        copy_runs(std::span<const std::span<std::byte>>(targets), what);
        end_writing();
        return true;
    }
    void revoke() noexcept override {
        if (!out_) return;
        out_->revoked.store(1);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        for (unsigned turns = 1; out_->writing.load() != 0; ++turns) {  // for one frame at most, with the parts combined with it
            if (turns % 256 == 0 && (hung_up(handle_) || process_gone(handle_))) return;
            std::this_thread::yield();
        }
    }
    bool revoked() const noexcept override {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return in_ && in_->revoked.load() != 0;
    }
    void give_back() noexcept override {
        in_->returned.store(++given_back_);
        if (in_->lender_sleeps.load() != 0 && in_->lender_sleeps.exchange(0) != 0) send_byte(handle_, wake_up);
    }

    void continue_from(shm_link& before) noexcept {
        arena_sent_ = before.arena_sent_;
        theirs_ = std::move(before.theirs_);
        memory_ = std::move(before.memory_);
        out_ = std::exchange(before.out_, nullptr);
        in_ = std::exchange(before.in_, nullptr);
        own_ = before.own_;
        other_ = before.other_;
        sender_ = std::exchange(before.sender_, std::nullopt);
        receiver_ = std::exchange(before.receiver_, std::nullopt);
        given_back_ = before.given_back_;
        seen_ = before.seen_;
        gone_ = before.gone_;
    }
    void take_memory(const file_descriptor& from) noexcept {
        auto memory = mapping::of(from, mapping::access::write);
        if (!memory) gone_ = memory.failure().code();
        else if (memory->size() != sizeof(shared_rings)) gone_ = error::protocol_error;
        else attach(std::move(*memory), 1);
    }
    void take_arena(const file_descriptor& from) noexcept {
        auto memory = mine_->of_other(from);
        if (memory) theirs_ = std::move(*memory);
        else gone_ = memory.failure().code();
    }
    void sent() noexcept {
        if (sender_->must_wake()) send_byte(handle_, wake_up);
        writer_.stir();
    }
    void received() noexcept {
        if (receiver_->must_wake()) send_byte(handle_, wake_up);
        reader_.stir();
    }
    void heard() noexcept {
        listening_ = false;
        hear();
    }

    local_protocol::socket socket_;
    const int handle_;
    socket_wait<local_protocol::socket> wakeups_;
    shm_wait reader_;
    shm_wait writer_;
    shm_wait lender_;
    const std::string peer_;
    const std::shared_ptr<arena> mine_;
    bool for_cell_ = false;  // what the reader waits for; else for bytes
    bool arena_sent_ = false;
    std::shared_ptr<const mapping> theirs_;  // the other side's arena, once it has lent something
    mapping memory_;
    ring_state* out_ = nullptr;
    ring_state* in_ = nullptr;
    std::span<std::byte> own_;    // this side's staging buffers
    std::span<std::byte> other_;  // the peer's
    std::optional<ring_sender> sender_;
    std::optional<ring_receiver> receiver_;
    std::uint64_t given_back_ = 0;
    std::uint64_t seen_ = 0;  // `returned` when the wait for it began
    std::error_code gone_;    // nothing is sent any more, and nothing comes but the bytes in the ring
    bool listening_ = false;
    detail::callback<&shm_link::heard> heard_{*this};
};

void shm_wait::run() noexcept {
    if (std::exchange(wished_, false)) over_.take_back(what_);
    if (over_.may_end(what_)) std::exchange(work_, nullptr)->run();  // which may destroy this
    else wait();
}

void shm_wait::arm() {
    wished_ = true;
    over_.wish(what_);
    if (over_.may_end(what_)) ready();
}

void shm_wait::look() noexcept {
    if (work_ == nullptr) return;
    if (over_.may_end(what_)) ready();
    else arm();
}

}  // namespace

result<std::unique_ptr<link>> open_shm_link(event_loop& loop, file_descriptor connected, std::string peer, std::shared_ptr<arena> mine) {
    auto file = make_shared_file("tutti-link", sizeof(shared_rings));
    if (!file) return file.failure();
    auto memory = mapping::of(*file, mapping::access::write);
    if (!memory) return memory.failure();
    new (memory->data()) shared_rings;
    if (const auto sent = hand_over(connected.number(), memory_comes, *file); !sent) return sent.failure();
    auto socket = local_socket(loop, std::move(connected));
    if (!socket) return socket.failure();
    auto made = std::make_unique<shm_link>(loop, std::move(*socket), std::move(peer), std::move(mine));
    made->attach(std::move(*memory), 0);
    return std::unique_ptr<link>(std::move(made));
}

std::unique_ptr<link> accept_shm_link(event_loop& loop, local_protocol::socket accepted, std::shared_ptr<arena> mine) {
    const int handle = accepted.native_handle();
    if (!same_user(handle)) return nullptr;
    auto made = std::make_unique<shm_link>(loop, std::move(accepted), fmt::format("shm:process {}", process_at(handle)), std::move(mine));
    made->hear();
    return made;
}

}  // namespace tutti
