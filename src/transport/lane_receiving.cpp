// The receiving half of a lane. Its states, and the events that lead from one to the next, stand over the class.
#include "transport/lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {

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
    frame_header bytes;  // a copy: the peer could change shared memory between the check and the use
    std::memcpy(bytes.data(), from, frame_bytes);
    if (!decode(bytes, head_)) return false;
    if (begin_ == end_) near_->skip(frame_bytes);
    else begin_ += frame_bytes;
    return true;
}

/// header -> parked or references, with a whole header from the stream or an inline cell. Returns false when there is none yet, or the lane
/// has ended. Inline cells count between two frames only, when nothing has been read ahead.
bool lane::take_header() noexcept {
    const bool may_use_cell = near_ && begin_ == end_;
    in_cell_ = may_use_cell && near_->take_cell(head_, cell_);
    const std::byte* const from = in_cell_ ? nullptr : next_header();
    // `peek` has shown bytes. A cell that was sent before them is visible by now, though it was not at the first look.
    if (may_use_cell && !in_cell_ && !drained_) in_cell_ = near_->take_cell(head_, cell_);
    if (!in_cell_ && !from) return false;
    if (in_cell_ ? !is_possible(head_) || !fits_cell(head_) : !read_header(from)) {
        fail(error::protocol_error);
        return false;
    }
    state_ = state::parked;
    if (head_.references == 0 && !head_.in_place) return true;
    if (!near_) {  // without shared memory there is nothing to lend or to write to
        fail(error::protocol_error);
        return false;
    }
    if (head_.references > 0) state_ = state::references;
    return true;
}

/// parked -> payload, if the owner takes the frame; parked or ended if it does not. Returns whether it does.
bool lane::ask_owner() noexcept {
    runs_.clear();
    through_ = past_caches_ = false;
    switch (owner_.arrived(head_, runs_)) {
        case landing::park: return false;
        case landing::refuse: state_ = state::ended; return false;
        case landing::through:
            through_ = true;
            begin_ = end_ = 0;  // empty: a near link reads no payload ahead, and `show` starts at the buffer's beginning
            break;
        case landing::past_caches: past_caches_ = true; break;
        case landing::here: break;
    }
    if (state_ == state::ended) return false;  // the owner closed the lane
    run_ = 0;
    missing_ = head_.in_place ? 0 : static_cast<std::size_t>(head_.payload_bytes);
    state_ = state::payload;
    return true;
}

void lane::redirect(std::span<const std::span<std::byte>> runs) {
    runs_.assign(runs.begin(), runs.end());
    run_ = 0;
}

void lane::fill_from_buffer() noexcept {
    while (missing_ > 0 && begin_ < end_) {
        auto& run = runs_[run_];
        const std::size_t bytes = std::min(run.size(), end_ - begin_);
        std::memcpy(run.data(), buffer_.get() + begin_, bytes);
        begin_ += bytes;
        missing_ -= bytes;
        run = run.subspan(bytes);
        if (run.empty()) ++run_;
    }
}

/// The link had no bytes: the lane waits, or has ended. Returns false.
bool lane::nothing_came(std::error_code code) noexcept {
    const bool between = state_ == state::header && begin_ == end_;
    if (near_ && !between && near_->take_cell(head_, cell_)) code = error::protocol_error;  // a cell in the middle of a frame
    if (code || send_code_) {  // after a send has failed, an empty link brings no more explanation
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

/// Makes one call to the link: the rest of the payload to its place, then what follows into the buffer. Returns false when nothing came or
/// the lane has ended.
bool lane::recv_more(std::size_t& budget) noexcept {
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ > 0) {  // the start of a header, or of references
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (std::exchange(drained_, false) && missing_ == 0 && end_ == 0 && !send_code_) {
        wait_readable();
        return false;
    }
    std::size_t ahead = missing_ >= long_payload ? frame_bytes : buffer_bytes - end_;
    // A near link shows headers where they lie. Only references, and a header that it does not show whole, are read into the buffer.
    if (near_) ahead = missing_ > 0 ? 0 : (state_ == state::references ? reference_bytes(head_) : frame_bytes) - end_;
    const std::size_t asked = missing_ + ahead;
    runs_.emplace_back(buffer_.get() + end_, ahead);
    const auto [bytes, code] = outside([this] {
        const auto runs = std::span<const std::span<std::byte>>(runs_).subspan(run_);
        return past_caches_ && near_ && missing_ > 0 ? near_->recv_past_caches(runs) : link_->try_recv(runs);
    });
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

/// Sends kept frames of all lanes before a call that may take long, so they do not wait for it. Returns false when this lane has ended
/// meanwhile.
bool lane::uncork() noexcept {
    if (cork_) cork_->send_kept();
    return state_ != state::ended;
}

/// Reads until nothing comes, a frame is parked, or the turn is over. Holds the cork, so answers to frames that came together leave
/// together.
void lane::pump_recv() noexcept {
    if (!cork_) return pump_recv_each();
    const cork::held together(*cork_);
    pump_recv_each();
}

void lane::pump_recv_each() noexcept {
    reading_ = true;
    std::size_t budget = turn_bytes;
    while (state_ != state::ended) {
        // header, references: read on until they are whole.
        if ((state_ == state::header && !take_header()) || (state_ == state::references && !take_references())) {
            if (state_ == state::ended) break;
            runs_.clear();
            run_ = 0;
            missing_ = 0;
            if (!uncork() || !recv_more(budget)) break;
            continue;
        }
        // parked: a short frame may end here. If no more is expected, look for the next one later. Work between a frame's arrival and the
        // end of the user's call counts in full; work while frames cross costs nothing.
        if (state_ == state::parked && give_cell(budget)) {
            if (state_ == state::ended || send_code_ || owner_.awaits()) continue;
            wait_readable();
            break;
        }
        if (state_ == state::parked && !ask_owner()) {
            if (state_ == state::parked && send_code_) fail(send_code_);
            break;
        }
        // payload. A lane whose sending has failed reads to the end without a pause, to find out why.
        if (budget == 0 && !send_code_) {
            waiting_readable_ = true;
            recv_turn_.start(readable_);
            break;
        }
        if (staging_buffers_ && !staging_buffers_->empty() && !unstage(budget)) break;
        if (head_.references > 0) {
            if (!take_lent(budget)) break;
        } else if (in_cell_) {
            if (!take_cell_payload(budget)) break;
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
        if (!uncork() || !(through_ ? pass_through(budget) : recv_more(budget))) break;
    }
    reading_ = false;
}

}  // namespace tutti
