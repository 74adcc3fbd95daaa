#include "transport/lane.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t batch_runs = 60;          // of one call: the system takes 1024, but more than 60 gain nothing
constexpr std::size_t batch_bytes = 512 * KiB;  // so that a batch stays in the cache

}  // namespace

lane::lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how, cork* together)
    : loop_(loop),
      guard_(guard),
      link_(std::move(over)),
      near_(link_->near()),
      owner_(owner),
      spread_(how == kind::spread),
      cork_(near_ || how != kind::single ? nullptr : together),
      send_turn_(loop),
      recv_turn_(loop),
      joined_(std::make_unique_for_overwrite<std::byte[]>(joined_bytes)),  // pages that are never used cost nothing
      may_stage_(how == kind::single),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {}

std::size_t lane_owner::through(const frame&, std::uint64_t, std::span<const std::byte>, std::byte*) noexcept { return 0; }

lane::~lane() { close(); }

void lane::stop() noexcept {
    state_ = state::ended;
    drop_frames();
    if (!spread_) return;
    const std::lock_guard ended(call_);  // waits for a call that is moving bytes now
}

void lane::drop_frames() noexcept {
    if (near_) near_->revoke();  // the owners of lent memory may reuse it from now on
    first_ = last_ = undecided_ = nullptr;
    lent_first_ = lent_last_ = nullptr;
    staging_awaited_ = false;
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

/// Lets the loop of a spread lane find out what there is to do.
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
    take_returned();  // lent payloads that the peer has read are sent, whatever happens to the link
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
    if (!queues() || pumping_ || waiting_writable_) return;
    if (spread_) wake();
    else if (!cork_ || !cork_->keep(*this)) pump_send();
}

void lane::writable() noexcept {
    const std::lock_guard lock(guard_);
    waiting_writable_ = false;
    pump_send();
}

/// Inserts `run` before send_runs_[at], or lengthens the run in front of it if both are adjacent: staged headers become one run.
void lane::append(std::size_t at, std::span<const std::byte> run) {
    if (at > 0 && send_runs_[at - 1].data() + send_runs_[at - 1].size() == run.data())
        send_runs_[at - 1] = {send_runs_[at - 1].data(), send_runs_[at - 1].size() + run.size()};
    else send_runs_.insert(send_runs_.begin() + static_cast<std::ptrdiff_t>(at), run);
}

/// Collects the runs of as many decided frames as fit one call, less the offset_ bytes that have gone. Frames whose payload is lent or in
/// place contribute their header and references only.
void lane::gather_batch() {
    send_runs_.clear();
    std::size_t staged = 0, bytes = 0;
    for (const outgoing* next = first_; next != undecided_ && send_runs_.size() < batch_runs && bytes < batch_bytes;
         next = next->next_in_lane) {
        if (joined_bytes - staged < frame_bytes + short_payload) break;  // a payload that is copied is at most short_payload
        std::byte* const at = joined_.get() + staged;
        const auto header = encode(next->head);
        std::memcpy(at, header.data(), frame_bytes);
        std::size_t length = frame_bytes;
        const std::size_t index = send_runs_.size();
        if (!next->head.in_place && next->head.references == 0) next->gather(send_runs_);
        if (next->head.references > 0) {
            const auto references = references_of(*next);
            std::memcpy(at + length, references.data(), reference_bytes(next->head));
            length += reference_bytes(next->head);
        } else if (next->head.payload_bytes <= short_payload) {
            for (std::size_t run = index; run < send_runs_.size(); ++run) {
                if (!send_runs_[run].empty()) std::memcpy(at + length, send_runs_[run].data(), send_runs_[run].size());
                length += send_runs_[run].size();
            }
            send_runs_.resize(index);
        }
        append(index, {at, length});
        staged += length;
        bytes += wire_bytes(next->head);
    }
    if (offset_ == 0) return;
    std::size_t gone = offset_, skipped = 0;
    while (skipped < send_runs_.size() && gone >= send_runs_[skipped].size()) gone -= send_runs_[skipped++].size();
    send_runs_.erase(send_runs_.begin(), send_runs_.begin() + static_cast<std::ptrdiff_t>(skipped));
    if (!send_runs_.empty()) send_runs_.front() = send_runs_.front().subspan(gone);
}

/// Counts bytes that the link has taken. A lent frame counts as sent when the peer has given it back, any other at once. That includes a
/// staged payload, whose own memory is free.
void lane::sent_bytes(std::size_t bytes) noexcept {
    offset_ += bytes;
    while (first_ && offset_ >= wire_bytes(first_->head)) {
        offset_ -= wire_bytes(first_->head);
        outgoing& done = *first_;
        first_ = done.next_in_lane;
        if (done.head.references > 0) done.number = ++lent_count_;
        if (done.staged) staging_buffers_->sent(done.staged, done.number);
        if (done.head.references > 0 && !done.staged) {
            done.next_in_lane = nullptr;
            (lent_first_ ? lent_last_->next_in_lane : lent_first_) = &done;
            lent_last_ = &done;
        } else {
            done.sent();  // may queue more frames, or close the lane
        }
    }
}

/// Sending is over, but the peer may have said why: the rest of the stream is read first, and `nothing_came` loses the lane at its end. A
/// parked lane reads nothing, so it is lost at once.
void lane::send_failed(std::error_code why) noexcept {
    send_code_ = why;
    drop_frames();
    if (state_ == state::parked) fail(why);
    else if (!reading_) pump_recv();
}

/// Sends until the queue is empty or the lane pauses; the diagram stands over the class.
void lane::pump_send() noexcept {
    pumping_ = true;
    std::size_t budget = turn_bytes;
    while (first_ && state_ != state::ended) {
        if (budget == 0) {  // a peer that takes bytes as fast would keep the loop here for the whole queue
            waiting_writable_ = true;
            send_turn_.start(writable_);
            break;
        }
        decide(budget);
        if (state_ == state::ended || first_ == undecided_) break;  // the first frame waits for staging buffers
        if (near_ && cell_first(budget)) continue;
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

}  // namespace tutti
