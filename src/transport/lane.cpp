#include "transport/lane.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t batch_runs = 60;          // the system takes 1024; more than these do not help
constexpr std::size_t batch_bytes = 512 * KiB;  // a batch that is not longer stays in cache
constexpr std::size_t turn_bytes = 1 * MiB;     // then others on the loop have their turn

}  // namespace

lane::lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how)
    : loop_(loop),
      guard_(guard),
      link_(std::move(over)),
      near_(link_->near()),
      owner_(owner),
      spread_(how == kind::spread),
      send_turn_(loop),
      recv_turn_(loop),
      staging_(staging_bytes),
      stages_(how == kind::single),
      buffer_(buffer_bytes) {}

std::size_t lane_owner::through(const frame&, std::uint64_t, std::span<const std::byte>, std::byte*) noexcept { return 0; }

lane::~lane() { close(); }

void lane::stop() noexcept {
    state_ = state::ended;
    drop_frames();
    if (!spread_) return;
    const std::lock_guard ended(call_);  // what is moving bytes now
}

void lane::drop_frames() noexcept {
    if (near_) near_->revoke();  // whoever lent memory may use it for something else from now on
    first_ = last_ = undecided_ = nullptr;
    lent_first_ = lent_last_ = nullptr;
}

void lane::close_soon() noexcept {
    stop();
    if (closed_) return;
    closing_ = true;
    wake();
}

void lane::part() noexcept {
    if (!waiting_writable_) pump_send();
    close();
}

void lane::close() noexcept {
    stop();
    closed_ = true;
    closing_ = false;
    link_->close();
    send_turn_.forget();
    recv_turn_.forget();
    loop_.withdraw(readable_);
    loop_.withdraw(writable_);
    loop_.withdraw(repaid_);
    loop_.withdraw(go_);
}

/// Of a spread lane: its loop looks what there is to do.
void lane::wake() noexcept {
    if (going_ || (state_ == state::ended && !closing_)) return;
    going_ = true;
    loop_.post(go_);
}

void lane::go() noexcept {
    const std::lock_guard lock(guard_);
    going_ = false;
    if (closing_) {
        close();
        return;
    }
    if (!waiting_writable_) pump_send();
    if (!waiting_readable_) pump_recv();
}

void lane::fail(std::error_code why) noexcept {
    if (state_ == state::ended) return;
    take_returned();  // what has been given back has been taken
    if (state_ == state::ended) return;
    stop();
    owner_.lost(why);
}

// ---- sending

void lane::send(outgoing& what) noexcept {
    if (state_ == state::ended || send_code_) return;
    what.next_in_lane = nullptr;
    if (!undecided_) undecided_ = &what;
    (first_ ? last_->next_in_lane : first_) = &what;
    last_ = &what;
}

void lane::flush() noexcept {
    if (pumping_ || waiting_writable_) return;
    if (spread_) wake();
    else pump_send();
}

void lane::writable() noexcept {
    const std::lock_guard lock(guard_);
    waiting_writable_ = false;
    pump_send();
}

/// Puts `run` at `place`, as a part of the run before it where that ends there.
void lane::append(std::size_t place, std::span<const std::byte> run) {
    if (place > 0 && send_runs_[place - 1].data() + send_runs_[place - 1].size() == run.data())
        send_runs_[place - 1] = {send_runs_[place - 1].data(), send_runs_[place - 1].size() + run.size()};
    else send_runs_.insert(send_runs_.begin() + static_cast<std::ptrdiff_t>(place), run);
}

/// The runs of as many queued frames as fit one call, less what has gone already.
void lane::gather_batch() {
    send_runs_.clear();
    std::size_t staged = 0, bytes = 0;
    for (const outgoing* next = first_; next != undecided_ && send_runs_.size() < batch_runs && bytes < batch_bytes;
         next = next->next_in_lane) {
        if (staging_.size() - staged < frame_bytes + short_payload) break;
        std::byte* const at = staging_.data() + staged;
        const auto header = encode(next->head);
        std::memcpy(at, header.data(), frame_bytes);
        std::size_t length = frame_bytes;
        const std::size_t place = send_runs_.size();
        if (!next->head.in_place && next->head.references == 0) next->gather(send_runs_);
        if (next->head.references > 0) {
            const auto references = references_of(*next);
            std::memcpy(at + length, references.data(), reference_bytes(next->head));
            length += reference_bytes(next->head);
        } else if (next->head.payload_bytes <= short_payload) {
            for (std::size_t run = place; run < send_runs_.size(); ++run) {
                if (!send_runs_[run].empty()) std::memcpy(at + length, send_runs_[run].data(), send_runs_[run].size());
                length += send_runs_[run].size();
            }
            send_runs_.resize(place);
        }
        append(place, {at, length});
        staged += length;
        bytes += wire_bytes(next->head);
    }
    if (offset_ == 0) return;
    std::size_t gone = offset_, skipped = 0;
    while (skipped < send_runs_.size() && gone >= send_runs_[skipped].size()) gone -= send_runs_[skipped++].size();
    send_runs_.erase(send_runs_.begin(), send_runs_.begin() + static_cast<std::ptrdiff_t>(skipped));
    if (!send_runs_.empty()) send_runs_.front() = send_runs_.front().subspan(gone);
}

void lane::sent_bytes(std::size_t bytes) noexcept {
    offset_ += bytes;
    while (first_ && offset_ >= wire_bytes(first_->head)) {
        offset_ -= wire_bytes(first_->head);
        outgoing& done = *first_;
        first_ = done.next_in_lane;
        if (done.head.references > 0) done.number = ++lent_count_;
        if (done.staged) slots_->sent(done.head.sequence, *done.answer, done.number);
        if (done.head.references > 0 && !done.staged) {
            done.next_in_lane = nullptr;
            (lent_first_ ? lent_last_->next_in_lane : lent_first_) = &done;
            lent_last_ = &done;
        } else {
            done.sent();  // may queue more, or close the lane
        }
    }
}

/// The other side may have said why it went. Only then, or when the owner does not want to hear it now, the lane is lost.
void lane::send_failed(std::error_code why) noexcept {
    send_code_ = why;
    drop_frames();
    if (state_ == state::parked) fail(why);
    else if (!reading_) pump_recv();
}

void lane::pump_send() noexcept {
    pumping_ = true;
    std::size_t budget = turn_bytes;
    while (first_ && state_ != state::ended) {
        if (budget == 0) {  // a peer that takes them as fast would keep us here for all there is to send
            waiting_writable_ = true;
            send_turn_.start(writable_);
            break;
        }
        decide(budget);
        if (state_ == state::ended) break;
        if (near_ && slip_first(budget)) continue;
        gather_batch();
        const auto [bytes, code] = outside([this] { return link_->try_send(send_runs_); });
        if (state_ == state::ended) break;
        if (code) {
            send_failed(code);
            break;
        }
        if (bytes == 0) {
            waiting_writable_ = true;
            link_->when_writable(writable_);
            break;
        }
        budget -= std::min(budget, bytes);
        sent_bytes(bytes);
    }
    await_return();
    pumping_ = false;
}

// ---- receiving

void lane::resume() noexcept {
    if (reading_ || waiting_readable_ || state_ == state::ended) return;
    if (spread_) wake();
    else pump_recv();
}

void lane::readable() noexcept {
    const std::lock_guard lock(guard_);
    waiting_readable_ = false;
    take_returned();
    if (!waiting_writable_) pump_send();
    pump_recv();
}

bool lane::read_header(const std::byte* from) noexcept {
    frame_header bytes;  // of its own: what is shown could still be changed
    std::memcpy(bytes.data(), from, frame_bytes);
    if (!decode(bytes, head_)) return false;
    if (begin_ == end_) near_->skip(frame_bytes);
    else begin_ += frame_bytes;
    return true;
}

/// Whether a whole header has been taken, of the stream or of a slip.
bool lane::take_header() noexcept {
    const bool may_slip = near_ && begin_ == end_;
    slipped_ = may_slip && near_->take_slip(head_, slip_);
    const std::byte* const from = slipped_ ? nullptr : next_header();
    if (may_slip && !slipped_ && !drained_) slipped_ = near_->take_slip(head_, slip_);  // it comes before what has been shown since
    if (!slipped_ && !from) return false;
    if (slipped_ ? !is_possible(head_) || !fits_slip(head_) : !read_header(from)) {
        fail(error::protocol_error);
        return false;
    }
    state_ = state::parked;
    if (head_.references == 0 && !head_.in_place) return true;
    if (!near_) {
        fail(error::protocol_error);
        return false;
    }
    if (head_.references > 0) state_ = state::references;
    return true;
}

/// Whether the owner took the frame.
bool lane::ask_owner() noexcept {
    runs_.clear();
    through_ = false;
    switch (owner_.arrived(head_, runs_)) {
        case landing::park: return false;
        case landing::refuse: state_ = state::ended; return false;
        case landing::through:
            through_ = true;
            begin_ = end_ = 0;  // the payload has not been read ahead
            break;
        case landing::here: break;
    }
    if (state_ == state::ended) return false;  // the owner closed the lane
    run_ = 0;
    missing_ = head_.in_place ? 0 : static_cast<std::size_t>(head_.payload_bytes);
    state_ = state::payload;
    return true;
}

void lane::fill_from_buffer() noexcept {
    while (missing_ > 0 && begin_ < end_) {
        auto& run = runs_[run_];
        const std::size_t bytes = std::min(run.size(), end_ - begin_);
        std::memcpy(run.data(), buffer_.data() + begin_, bytes);
        begin_ += bytes;
        missing_ -= bytes;
        run = run.subspan(bytes);
        if (run.empty()) ++run_;
    }
}

/// An end, or one has to wait. False.
bool lane::nothing_came(std::error_code code) noexcept {
    const bool between = state_ == state::header && begin_ == end_;
    if (near_ && !between && near_->take_slip(head_, slip_)) code = error::protocol_error;  // in the middle of a frame
    if (code || send_code_) {
        fail(code ? code : send_code_);
        return false;
    }
    wait_readable();
    return false;
}

void lane::wait_readable() noexcept {
    waiting_readable_ = true;
    link_->expect(owner_.awaits());
    link_->when_readable(readable_);
}

/// One call to the link: the rest of the payload, then what follows it into the buffer. False when there was nothing or an end.
bool lane::recv_more(std::size_t& budget) noexcept {
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (std::exchange(drained_, false) && missing_ == 0 && end_ == 0 && !send_code_) {
        wait_readable();
        return false;
    }
    std::size_t ahead = missing_ >= long_payload ? frame_bytes : buffer_bytes - end_;
    // What the link shows need not be read ahead, only what lies there in two pieces.
    if (near_) ahead = missing_ > 0 ? 0 : (state_ == state::references ? reference_bytes(head_) : frame_bytes) - end_;
    const std::size_t asked = missing_ + ahead;
    runs_.emplace_back(buffer_.data() + end_, ahead);
    const auto [bytes, code] = outside([this] { return link_->try_recv(std::span<const std::span<std::byte>>(runs_).subspan(run_)); });
    runs_.pop_back();
    if (state_ == state::ended) return false;
    if (bytes == 0) return nothing_came(code);
    drained_ = bytes < asked;
    budget -= std::min(budget, bytes);
    std::size_t payload = std::min(bytes, missing_);
    end_ += bytes - payload;
    missing_ -= payload;
    while (payload > 0) {
        auto& run = runs_[run_];
        const std::size_t part = std::min(payload, run.size());
        run = run.subspan(part);
        payload -= part;
        if (run.empty()) ++run_;
    }
    return true;
}

void lane::pump_recv() noexcept {
    reading_ = true;
    std::size_t budget = turn_bytes;
    while (state_ != state::ended) {
        if ((state_ == state::header && !take_header()) || (state_ == state::references && !take_references())) {
            if (state_ == state::ended) break;
            runs_.clear();
            run_ = 0;
            missing_ = 0;
            if (!recv_more(budget)) break;
            continue;
        }
        if (state_ == state::parked && give_slip(budget)) {
            if (state_ == state::ended || send_code_ || owner_.awaits()) continue;
            wait_readable();
            break;
        }
        if (state_ == state::parked && !ask_owner()) {
            if (state_ == state::parked && send_code_) fail(send_code_);
            break;
        }
        if (budget == 0 && !send_code_) {
            waiting_readable_ = true;
            recv_turn_.start(readable_);
            break;
        }
        if (slots_ && !slots_->empty() && !unstage(budget)) break;
        if (head_.references > 0) {
            if (!take_lent(budget)) break;
        } else if (slipped_) {
            if (!take_slip_payload(budget)) break;
        } else if (!through_) {
            fill_from_buffer();
        }
        if (missing_ == 0) {
            if (spread_ && head_.payload_bytes > 0 && !head_.in_place) {
                outside([this] { owner_.settle(head_); });
                if (state_ == state::ended) break;
            }
            state_ = state::header;
            owner_.landed(head_);
            continue;
        }
        if (!(through_ ? pass_through(budget) : recv_more(budget))) break;
    }
    reading_ = false;
}

}  // namespace tutti
