#include "transport/lane.hpp"

#include "transport/near_lane.hpp"
#include "transport/stream_lane.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

std::unique_ptr<lane> make_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, lane_owner& owner, lane::kind how,
                                cork* together) {
    if (near_link* const near = over->near()) return make_near_lane(loop, guard, std::move(over), *near, owner, how);
    return make_stream_lane(loop, guard, std::move(over), owner, how, together);
}

lane::lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how, cork* together)
    : loop_(loop),
      guard_(guard),
      link_(std::move(over)),
      owner_(owner),
      spread_(how == kind::spread),
      cork_(how == kind::single ? together : nullptr),
      send_turn_(loop),
      recv_turn_(loop) {}

void lane::stop() noexcept {
    state_ = state::ended;
    drop_frames();
    if (!spread_) return;
    const std::lock_guard ended(call_);  // waits for a call that is moving bytes now
}

void lane::drop_frames() noexcept {
    first_ = last_ = nullptr;
    dropped();
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
    take_returned();  // whatever happens to the link
    if (state_ == state::ended) return;
    stop();
    owner_.lost(why);
}

// ---- sending

void lane::send(outgoing& what) noexcept {
    if (state_ == state::ended || send_code_) return;
    what.next_in_lane = nullptr;
    (first_ ? last_->next_in_lane : first_) = &what;
    last_ = &what;
}

outgoing& lane::take_first() noexcept {
    outgoing& first = *first_;
    first_ = first.next_in_lane;
    return first;
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

void lane::pump_send() noexcept {
    pumping_ = true;
    send_frames();
    pumping_ = false;
}

bool lane::turn_is_over_for_sending(std::size_t budget) noexcept {
    if (budget > 0) return false;
    waiting_writable_ = true;  // a peer that takes bytes as fast would keep the loop here for the whole queue
    send_turn_.start(writable_);
    return true;
}

void lane::await_room() noexcept {
    waiting_writable_ = true;
    link_->when_writable(writable_);
}

void lane::send_failed(std::error_code why) noexcept {
    send_code_ = why;
    drop_frames();
    if (state_ == state::announced) fail(why);
    else if (!reading_) pump_recv();
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

/// Holds the cork, so answers to frames that came together leave together.
void lane::pump_recv() noexcept {
    std::optional<cork::held> together;
    if (cork_) together.emplace(*cork_);
    reading_ = true;
    read_frames();
    reading_ = false;
}

bool lane::ask_owner() noexcept {
    runs_.clear();
    run_ = 0;
    through_ = past_caches_ = false;
    switch (owner_.arrived(head_, runs_)) {
        case landing::park:
            if (send_code_) fail(send_code_);
            return false;
        case landing::refuse: state_ = state::ended; return false;
        case landing::through: through_ = true; break;
        case landing::past_caches: past_caches_ = true; break;
        case landing::here: break;
    }
    if (state_ == state::ended) return false;  // the owner closed the lane
    missing_ = head_.in_place ? 0 : static_cast<std::size_t>(head_.payload_bytes);
    state_ = state::payload;
    return true;
}

void lane::redirect(std::span<const std::span<std::byte>> runs) {
    runs_.assign(runs.begin(), runs.end());
    run_ = 0;
}

void lane::landed(std::size_t bytes) noexcept {
    missing_ -= bytes;
    while (bytes > 0) {
        auto& run = runs_[run_];
        const std::size_t part = std::min(bytes, run.size());
        run = run.subspan(part);
        bytes -= part;
        if (run.empty()) ++run_;
    }
}

void lane::deliver() noexcept {
    if (spread_ && head_.payload_bytes > 0 && !head_.in_place) {
        outside([this] { owner_.settle(head_); });
        if (state_ == state::ended) return;
    }
    state_ = state::header;
    owner_.landed(head_);
}

bool lane::turn_is_over_for_reading(std::size_t budget) noexcept {
    if (budget > 0 || send_code_) return false;
    waiting_readable_ = true;
    recv_turn_.start(readable_);
    return true;
}

}  // namespace tutti
