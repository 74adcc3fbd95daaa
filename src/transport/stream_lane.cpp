#include "transport/stream_lane.hpp"

#include "transport/copy_runs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t batch_runs = 60;          // of one call: the system takes 1024, but more than 60 gain nothing
constexpr std::size_t batch_bytes = 512 * KiB;  // so that a batch stays in the cache
constexpr std::size_t short_payload = 1 * KiB;  // longer payloads are runs of their own
constexpr std::size_t joined_bytes = 16 * KiB;  // copied by one call at most
constexpr std::size_t buffer_bytes = 16 * KiB;
// Behind a longer payload only the next header is read ahead: more would be payload, which is copied once more out of the buffer.
constexpr std::size_t long_payload = 64 * KiB;

std::size_t wire_bytes(const frame& head) noexcept { return frame_bytes + static_cast<std::size_t>(head.payload_bytes); }

class stream_lane final : public lane {
public:
    stream_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how, cork* together)
        : lane(loop, guard, std::move(over), owner, how, together),
          joined_(std::make_unique_for_overwrite<std::byte[]>(joined_bytes)),  // pages that are never used cost nothing
          buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {}
    ~stream_lane() override { close(); }

private:
    void send_frames() noexcept override;
    void gather_batch();
    void append(std::size_t at, std::span<const std::byte> run);
    void sent_bytes(std::size_t bytes) noexcept;

    void read_frames() noexcept override;
    bool take_header() noexcept;
    void fill_from_buffer() noexcept;
    bool recv_more(std::size_t& budget) noexcept;
    void wait_readable() noexcept;

    // Sending. The first frames of the queue form the current batch. Headers and short payloads are copied next to each other into
    // joined_, so many small frames are one run of a system call.
    std::size_t offset_ = 0;  // bytes of the first frame that have gone
    const std::unique_ptr<std::byte[]> joined_;
    std::vector<std::span<const std::byte>> send_runs_;

    // Receiving: bytes read ahead wait in buffer_[begin_, end_).
    bool drained_ = false;  // the last call got less than it asked for, so the next would find nothing
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    const std::unique_ptr<std::byte[]> buffer_;
};

// ---- sending

/// Inserts `run` before send_runs_[at], or lengthens the run in front of it if both are adjacent: joined headers become one run.
void stream_lane::append(std::size_t at, std::span<const std::byte> run) {
    if (at > 0 && send_runs_[at - 1].data() + send_runs_[at - 1].size() == run.data())
        send_runs_[at - 1] = {send_runs_[at - 1].data(), send_runs_[at - 1].size() + run.size()};
    else send_runs_.insert(send_runs_.begin() + static_cast<std::ptrdiff_t>(at), run);
}

/// Collects the runs of as many frames as fit one call.
void stream_lane::gather_batch() {
    send_runs_.clear();
    std::size_t joined = 0, bytes = 0;
    for (const outgoing* next = first_; next && send_runs_.size() < batch_runs && bytes < batch_bytes; next = next->next_in_lane) {
        if (joined_bytes - joined < frame_bytes + short_payload) break;  // a payload that is copied is at most short_payload
        std::byte* const at = joined_.get() + joined;
        const auto header = encode(next->head);
        std::memcpy(at, header.data(), frame_bytes);
        std::size_t length = frame_bytes;
        const std::size_t index = send_runs_.size();
        next->gather(send_runs_);
        if (next->head.payload_bytes <= short_payload) {
            for (std::size_t run = index; run < send_runs_.size(); ++run) {
                if (!send_runs_[run].empty()) std::memcpy(at + length, send_runs_[run].data(), send_runs_[run].size());
                length += send_runs_[run].size();
            }
            send_runs_.resize(index);
        }
        append(index, {at, length});
        joined += length;
        bytes += wire_bytes(next->head);
    }
}

/// Counts bytes that the link has taken.
void stream_lane::sent_bytes(std::size_t bytes) noexcept {
    offset_ += bytes;
    while (first_ && offset_ >= wire_bytes(first_->head)) {
        offset_ -= wire_bytes(first_->head);
        take_first().sent();  // may queue more frames, or close the lane
    }
}

void stream_lane::send_frames() noexcept {
    std::size_t budget = turn_bytes;
    while (first_ && state_ != state::ended && !turn_is_over_for_sending(budget)) {
        gather_batch();
        const auto rest = without(send_runs_, offset_);
        const auto [bytes, code] = outside([&] { return link_->try_send(rest); });
        if (state_ == state::ended) return;
        if (code) return send_failed(code);
        if (bytes == 0) return await_room();
        budget -= std::min(budget, bytes);
        sent_bytes(bytes);
    }
}

// ---- receiving

/// header -> announced, with a whole header in the buffer. Returns false when there is none yet, or the lane has ended.
bool stream_lane::take_header() noexcept {
    if (end_ - begin_ < frame_bytes) return false;
    if (!decode(std::span<const std::byte, frame_bytes>(buffer_.get() + begin_, frame_bytes), head_)) {
        fail(error::protocol_error);
        return false;
    }
    begin_ += frame_bytes;
    state_ = state::announced;
    return true;
}

void stream_lane::fill_from_buffer() noexcept {
    while (missing_ > 0 && begin_ < end_) {
        const auto& run = runs_[run_];
        const std::size_t bytes = std::min(run.size(), end_ - begin_);
        if (bytes > 0) std::memcpy(run.data(), buffer_.get() + begin_, bytes);
        begin_ += bytes;
        if (bytes > 0) landed(bytes);
        else ++run_;
    }
}

void stream_lane::wait_readable() noexcept {
    waiting_readable_ = true;
    link_->expect(owner_.awaits());
    link_->when_readable(readable_);
}

/// Makes one call to the link: the rest of the payload to its place, then what follows into the buffer. Returns false when nothing came or
/// the lane has ended.
bool stream_lane::recv_more(std::size_t& budget) noexcept {
    // The call may take long: what is kept back goes first.
    if (cork_) cork_->send_kept();
    if (state_ == state::ended) return false;
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ > 0) {  // the start of a header
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (std::exchange(drained_, false) && missing_ == 0 && end_ == 0 && !send_code_) {
        wait_readable();
        return false;
    }
    const std::size_t ahead = missing_ >= long_payload ? frame_bytes : buffer_bytes - end_;
    const std::size_t asked = missing_ + ahead;
    runs_.emplace_back(buffer_.get() + end_, ahead);
    const auto [bytes, code] = outside([this] { return link_->try_recv(std::span<const std::span<std::byte>>(runs_).subspan(run_)); });
    runs_.pop_back();
    if (state_ == state::ended) return false;
    if (bytes == 0) {
        if (code || send_code_) fail(code ? code : send_code_);  // after a send has failed, an empty link brings no more explanation
        else wait_readable();
        return false;
    }
    drained_ = bytes < asked;
    budget -= std::min(budget, bytes);
    const std::size_t payload = std::min(bytes, missing_);
    end_ += bytes - payload;
    landed(payload);
    return true;
}

void stream_lane::read_frames() noexcept {
    std::size_t budget = turn_bytes;
    while (state_ != state::ended) {
        if (state_ == state::header && !take_header()) {
            if (state_ == state::ended) return;
            runs_.clear();
            run_ = 0;
            missing_ = 0;
            if (!recv_more(budget)) return;
            continue;
        }
        if (state_ == state::announced && !ask_owner()) return;
        if (turn_is_over_for_reading(budget)) return;
        fill_from_buffer();
        if (missing_ == 0) deliver();
        else if (!recv_more(budget)) return;
    }
}

}  // namespace

std::unique_ptr<lane> make_stream_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, lane_owner& owner, lane::kind how,
                                       cork* together) {
    return std::make_unique<stream_lane>(loop, guard, std::move(over), owner, how, together);
}

}  // namespace tutti
