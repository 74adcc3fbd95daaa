#include "transport/multiplexed_link.hpp"

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "transport/byte_queue.hpp"
#include "transport/watcher.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t read_bytes = 64 * KiB;  // of one call
constexpr std::size_t turn_bytes = 1 * MiB;   // then the loop's other links have their turn

}  // namespace

/// One end of a stream. `close` and the destructor may come when the multiplexed link has ended, and its loop with it.
class multiplexed_link::stream final : public link {
public:
    stream(std::shared_ptr<multiplexed_link> over, std::uint64_t number)
        : over_(std::move(over)), number_(number), reader_(over_->loop_), writer_(over_->loop_) {
        over_->streams_.emplace(number_, this);
    }
    ~stream() override { close(); }

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        if (code_) return {0, code_};
        const moved done = over_->send(number_, parts, credit_);
        credit_ -= done.bytes;
        if (done.bytes > 0) sent_until_ = over_->kept_until_;
        return done;
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override {
        if (closed_) return {0, code_};
        if (arrived_.empty()) return {0, code_};
        std::size_t done = 0;
        for (const auto& part : parts) {
            const auto now = arrived_.bytes().subspan(done).first(std::min(part.size(), arrived_.size() - done));
            if (!now.empty()) std::memcpy(part.data(), now.data(), now.size());
            done += now.size();
        }
        arrived_.drop(done);
        owed_ += done;
        if (owed_ >= window_bytes / 2 && !code_) over_->say({number_, static_cast<std::uint32_t>(std::exchange(owed_, 0)), record::credit});
        return {done, {}};
    }
    void when_readable(detail::runnable& work) noexcept override {
        if (closed_) return;
        reader_.expect(work);
        if (!arrived_.empty() || code_) reader_.wake();
    }
    void when_writable(detail::runnable& work) noexcept override {
        if (closed_) return;
        writer_.expect(work);
        if (code_) writer_.wake();
        else if (credit_ > 0) over_->wait_for_room(*this);
    }
    void expect(bool soon) noexcept override {
        if (closed_ || soon == expecting_) return;
        expecting_ = soon;
        over_->expect(soon);
    }
    std::size_t window() const noexcept override { return over_->window_; }
    bool handed_over() const noexcept override { return over_->ended() || over_->gone_until_ >= sent_until_; }
    void close() noexcept override {
        if (std::exchange(closed_, true)) return;
        if (std::exchange(expecting_, false)) over_->expect(false);
        over_->forget(*this);
        reader_.disarm();
        writer_.disarm();
        reader_.forget();
        writer_.forget();
        arrived_ = {};
        if (!over_->ended()) over_->say({number_, 0, record::end});
        code_ = error::closed;
    }
    std::string peer() const override { return over_->peer_; }

    // For the multiplexed link.
    std::uint64_t number() const noexcept { return number_; }
    /// Returns false for bytes beyond the window.
    bool arrive(std::span<const std::byte> bytes) noexcept {
        if (arrived_.size() + owed_ + bytes.size() > window_bytes) return false;
        arrived_.put(bytes);
        reader_.wake();
        return true;
    }
    /// Returns false for no credit, or for more than the window.
    bool take_credit(std::size_t bytes) noexcept {
        if (bytes == 0 || bytes > window_bytes - credit_) return false;
        if (std::exchange(credit_, credit_ + bytes) == 0 && writer_.waits()) over_->wait_for_room(*this);
        return true;
    }
    void room() noexcept { writer_.wake(); }
    /// Nothing comes and goes any more, except for what has arrived.
    void end(std::error_code why) noexcept {
        if (!code_) code_ = why;
        reader_.wake();
        writer_.wake();
    }

private:
    const std::shared_ptr<multiplexed_link> over_;
    const std::uint64_t number_;
    watcher reader_;
    watcher writer_;
    std::size_t credit_ = window_bytes;
    std::uint64_t sent_until_ = 0;    // a place in the backlog's bytes, behind the last record
    std::size_t owed_ = 0;            // taken, and not yet credited to the sender
    growing_byte_queue arrived_;
    std::error_code code_;  // the peer has closed the stream, or the multiplexed link has ended; what has arrived is still read
    bool closed_ = false;
    bool expecting_ = false;
};

multiplexed_link::multiplexed_link(event_loop& loop, std::unique_ptr<link> over, side which, multiplexed_link_owner& owner)
    : loop_(loop),
      over_(std::move(over)),
      owner_(owner),
      peer_(over_->peer()),
      window_(over_->window()),
      next_number_(which == side::dialled ? 1 : 2),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(read_bytes)),
      recv_turn_(loop) {}

multiplexed_link::~multiplexed_link() {
    TUTTI_CHECK(streams_.empty(), "streams hold their multiplexed link");
    close();
}

void multiplexed_link::start() noexcept { over_->when_readable(readable_); }

std::unique_ptr<link> multiplexed_link::open() {
    auto made = std::make_unique<stream>(shared_from_this(), next_number_);
    next_number_ += 2;
    if (ended()) made->end(code_);
    else say({made->number(), 0, record::open});
    return made;
}

void multiplexed_link::close() noexcept {
    if (ended()) return;
    if (!backlog_.empty()) {  // there may be room by now
        const auto rest = backlog_.bytes();
        static_cast<void>(over_->try_send(std::span(&rest, 1)));
    }
    finish(error::closed);
}

/// The link has ended, or has brought what no peer of this version sends.
void multiplexed_link::lose(std::error_code why) noexcept {
    if (ended()) return;
    finish(why);
    owner_.ended(*this);
}

void multiplexed_link::finish(std::error_code why) noexcept {
    code_ = why;
    loop_.withdraw(readable_);
    loop_.withdraw(writable_);
    loop_.withdraw(next_writer_);
    recv_turn_.forget();
    over_->close();
    over_.reset();
    backlog_ = {};
    writers_.clear();
    for (const auto& [number, each] : streams_) each->end(why);
}

// ---- sending

std::array<std::byte, multiplexed_link::header_bytes> multiplexed_link::encode(const header& what) noexcept {
    std::array<std::byte, header_bytes> bytes{};
    byte_writer out(bytes);
    out.put(what.number);
    out.put(what.length);
    out.put(static_cast<std::uint8_t>(what.kind));
    return bytes;
}

/// Sends one record of that stream, of at most `limit` bytes.
moved multiplexed_link::send(std::uint64_t number, std::span<const std::span<const std::byte>> parts, std::size_t limit) noexcept {
    if (ended()) return {0, code_};
    const std::size_t bytes = std::min({total_bytes(parts), limit, record_bytes});
    if (bytes == 0 || !has_room(bytes)) return {};
    const auto head = encode({number, static_cast<std::uint32_t>(bytes), record::data});
    runs_.assign(1, head);
    std::size_t left = bytes;
    for (const auto& part : parts) {
        const std::size_t now = std::min(part.size(), left);
        if (now > 0) runs_.push_back(part.first(now));
        left -= now;
    }
    std::size_t gone = 0;
    if (backlog_.empty()) {
        const auto [sent, code] = over_->try_send(runs_);
        if (code) {
            lose(code);
            return {0, code};
        }
        gone = sent;
    }
    for (const auto& run : runs_) {
        const std::size_t skipped = std::min(gone, run.size());
        gone -= skipped;
        keep(run.subspan(skipped));
    }
    pump_send();
    return {bytes, {}};
}

/// A short record is copied behind others that wait, a long one leaves from its own memory.
bool multiplexed_link::has_room(std::size_t bytes) const noexcept {
    return backlog_.empty() || backlog_.size() + header_bytes + bytes <= backlog_bytes;
}

void multiplexed_link::say(const header& what) noexcept {
    if (ended()) return;
    keep(encode(what));
    pump_send();
}

void multiplexed_link::keep(std::span<const std::byte> bytes) noexcept {
    backlog_.put(bytes);
    kept_until_ += bytes.size();
}

void multiplexed_link::pump_send() noexcept {
    while (!backlog_.empty() && !waiting_writable_) {
        const auto rest = backlog_.bytes();
        const auto [sent, code] = over_->try_send(std::span(&rest, 1));
        if (code) return lose(code);
        backlog_.drop(sent);
        gone_until_ += sent;
        if (sent == 0) {
            waiting_writable_ = true;
            over_->when_writable(writable_);
        }
    }
}

void multiplexed_link::writable() noexcept {
    const auto self = shared_from_this();
    waiting_writable_ = false;
    pump_send();
    if (!ended() && !waiting_writable_) call_next_writer();
}

void multiplexed_link::wait_for_room(stream& who) noexcept {
    writers_.push_back(&who);
    if (!waiting_writable_) call_next_writer();
}

void multiplexed_link::call_next_writer() noexcept {
    if (!writers_.empty() && !std::exchange(turning_, true)) loop_.post(next_writer_);
}

/// Streams take turns: each that waits is called once, and waits again behind the others if it has more.
void multiplexed_link::next_writer() noexcept {
    turning_ = false;
    if (writers_.empty() || waiting_writable_) return;
    stream& next = *writers_.front();
    writers_.pop_front();
    next.room();
    call_next_writer();
}

void multiplexed_link::forget(stream& who) noexcept {
    streams_.erase(who.number());
    std::erase(writers_, &who);
}

// ---- receiving

void multiplexed_link::expect(bool soon) noexcept {
    expecting_ += soon ? 1 : -1;
    if (over_ && expecting_ == (soon ? 1 : 0)) over_->expect(soon);
}

void multiplexed_link::readable() noexcept {
    const auto self = shared_from_this();  // the streams that hold it may end here
    for (std::size_t came = 0; came < turn_bytes;) {
        const std::span<std::byte> room = std::span(buffer_.get(), read_bytes).subspan(kept_);
        const auto [bytes, code] = over_->try_recv(std::span(&room, 1));
        if (code) return lose(code);
        if (bytes == 0) return over_->when_readable(readable_);
        came += bytes;
        std::span<const std::byte> rest = std::span(buffer_.get(), kept_ + bytes);
        while (read(rest))
            if (ended()) return;
        if (ended()) return;
        if (!rest.empty()) std::memmove(buffer_.get(), rest.data(), rest.size());
        kept_ = rest.size();
    }
    recv_turn_.start(readable_);
}

/// Takes a header, or bytes of a record, from the front. Returns false when there is not enough for that.
bool multiplexed_link::read(std::span<const std::byte>& bytes) noexcept {
    if (missing_ > 0) {
        const auto now = bytes.first(std::min(missing_, bytes.size()));
        const auto found = streams_.find(head_.number);  // a stream that was closed here takes no more
        if (found != streams_.end() && !found->second->arrive(now)) lose(error::protocol_error);
        missing_ -= now.size();
        bytes = bytes.subspan(now.size());
        return !now.empty();
    }
    if (bytes.size() < header_bytes) return false;
    byte_reader in(bytes);
    head_.number = in.take<std::uint64_t>();
    head_.length = in.take<std::uint32_t>();
    head_.kind = static_cast<record>(in.take<std::uint8_t>());
    bytes = bytes.subspan(header_bytes);
    if (!obey(head_)) lose(error::protocol_error);
    return true;
}

/// Returns false for a record that no correct peer sends.
bool multiplexed_link::obey(const header& what) noexcept {
    const auto found = streams_.find(what.number);
    stream* const at = found == streams_.end() ? nullptr : found->second;
    switch (what.kind) {
        case record::open:
            if (what.number % 2 == next_number_ % 2 || what.number <= last_opened_) return false;
            last_opened_ = what.number;
            owner_.opened(std::make_unique<stream>(shared_from_this(), what.number));
            return true;
        case record::data: missing_ = what.length; return what.length <= record_bytes;
        case record::credit: return !at || at->take_credit(what.length);
        case record::end:
            if (at) at->end(error::peer_died);
            return true;
    }
    return false;
}

}  // namespace tutti
