// Frames over a link. A lane sends what it is given in that order, many frames to a system call, and asks its owner where each
// arriving frame shall land. It knows nothing of operations.
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include "transport/cork.hpp"
#include "transport/frame.hpp"
#include "transport/near_link.hpp"
#include "transport/next_turn.hpp"
#include "transport/staging_buffers.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// Memory that the other side has lent and takes an answer in: by the frame of that place.
struct remote_reference {
    std::uint32_t index = 0;
    std::size_t count = 0;
    std::array<reference, most_references> parts;
    bool answered = false;  // that frame's payload has been written there already

    std::span<const reference> where() const noexcept { return std::span(parts).first(count); }
};

/// A frame on its way out, kept with the memory of its payload by its owner until `sent`.
class outgoing {
public:
    frame head;
    bool soon_written = false;         // the payload's memory will be written again while it is in the caches
    bool summed = false;               // with what others send there for the same blocks, as far as this rank can tell
    std::size_t copied_bytes = 0;      // of the transfer that the payload is a part of, where the other side does nothing but copy it
    /// The place of the frame that brings what belongs into the payload's memory, or `answer_beyond` bytes further on; there nobody writes until
    /// then.
    std::optional<std::uint32_t> answer;
    std::ptrdiff_t answer_beyond = 0;
    remote_reference into;                         // where the other side wants the payload; without parts it has not said so

    // The lane's.
    outgoing* next_in_lane = nullptr;
    std::array<reference, most_references> lends{};  // what stands in place of the payload
    const std::byte* staged = nullptr;               // the first staging buffer, if the payload was copied to where these lead
    std::uint64_t number = 0;                        // among the frames that lend

    /// Appends the runs of the payload, head.payload_bytes in all. Asked again after a partial send: the answer must be the same.
    virtual void gather(std::vector<std::span<const std::byte>>& runs) const = 0;
    /// Nobody reads the payload any more: all bytes are with the kernel, or copied, or the other side has given them back. The object may be queued
    /// again at once.
    virtual void sent() noexcept = 0;

protected:
    ~outgoing() = default;
};

/// Where an arriving payload goes.
enum class landing { here, past_caches, through, park, refuse };

class lane_owner {
public:
    /// A frame's header has arrived. `here`: the owner has appended runs of head.payload_bytes in all. `through`: it
    /// takes the payload part by part, where the link shows it; only from a lane that is `near`. `past_caches`: as `here`, and nobody reads it
    /// there soon. `park`: nothing is read until
    /// `lane::resume`, then it is asked again. `refuse`: the lane stops reading for good.
    virtual landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept = 0;
    /// A short frame has arrived, and all of its payload. False, and nothing has happened, when it is to be asked about as others are.
    virtual bool taken(const frame& head, std::span<const std::byte> payload) noexcept {
        return static_cast<void>(head), static_cast<void>(payload), false;
    }
    /// The part of a payload that begins at `offset`; `back`, if not null, takes the result too, and may be the same memory. Says how many bytes it
    /// took, whole elements. From a spread lane without the guard.
    virtual std::size_t through(const frame& head, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept;
    /// Only from a spread lane, without the guard: a payload is all there. What takes long and concerns nobody else is done here.
    virtual void settle(const frame& head) noexcept { static_cast<void>(head); }
    virtual void landed(const frame& head) noexcept = 0;
    /// Whether what this rank makes of the payload, part by part, is what the frame of that place brings: then `through` writes it where the
    /// other side wants it as well.
    virtual bool answers(const frame& head, std::uint32_t index) noexcept { return static_cast<void>(head), static_cast<void>(index), false; }
    /// The payload that is about to land was lent: the frame that stands in the remote reference may be written there.
    virtual void lent(const frame& head, const remote_reference& what) noexcept { static_cast<void>(head), static_cast<void>(what); }
    /// Whether a frame is due.
    virtual bool awaits() const noexcept { return false; }
    /// The stream ended, failed, or carried something that is no frame. Called once.
    virtual void lost(std::error_code why) noexcept = 0;

protected:
    ~lane_owner() = default;
};

/// Used with `guard` held, on the loop unless said otherwise. Calls its owner with `guard` held.
///
/// A *spread* lane shares the guard with lanes on other loops. It lets go of the guard while it moves bytes, and only then, so whoever holds the
/// guard finds it between two calls, or waits in `stop` for the end of one. Nothing but its own loop's calls moves bytes: `send`, `flush`
/// and `resume` come from any thread, and the loop does the rest soon.
class lane final {
public:
    /// What its owner sends and receives goes over this lane alone; or over others too; or over others on other loops.
    enum class kind { single, shared, spread };

    /// `together`, if not null: frames leave together with those of other lanes, over a network, where they do not share them.
    lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how = kind::single,
         cork* together = nullptr);
    ~lane();

    /// Sends a short frame at once. False, and nothing has happened, when it is to be queued as others are.
    bool send_now(const frame& head, std::span<const std::byte> payload) noexcept;
    /// Queues `what`; `flush` gives it to the kernel, or soon, where somebody holds the cork.
    void send(outgoing& what) noexcept;
    void flush() noexcept;
    /// The owner awaits a frame. A spread lane hears of that when it waits for the next one.
    void expect() noexcept {
        if (!spread_) link_->expect(true);
    }
    /// Asks about a parked frame again, and starts reading.
    void resume() noexcept;
    /// So many bytes of the payload that is landing are still to come.
    std::size_t missing() const noexcept { return state_ == state::payload ? missing_ : 0; }
    /// They go elsewhere: to runs of as many bytes. Not of a spread lane, whose bytes may be on their way there right now.
    void redirect(std::span<const std::span<std::byte>> runs);
    /// Takes what the other side has sent by now, where memory tells.
    void look() noexcept;
    /// Drops what is queued and touches no payload any more. On any thread. No call to the owner or to queued frames comes afterwards.
    void stop() noexcept;
    /// Stops, and ends the link.
    void close() noexcept;
    /// Of a spread lane. On any thread: stops, and ends the link soon.
    void close_soon() noexcept;
    /// Sends what can be sent at once, and closes.
    void part() noexcept;
    /// Whether every queued byte is with the kernel, or with the other side, or lies in staging buffers for it.
    bool flushed() const noexcept { return first_ == nullptr && lent_first_ == nullptr; }
    /// Whether the other side shares memory with this one.
    bool near() const noexcept { return near_ != nullptr; }

    /// What the other side has lent for the frame that the owner is asked about, or that is parked; empty when its payload comes in another way.
    std::span<const std::span<std::byte>> lent() const noexcept {
        if (state_ != state::parked || head_.references == 0) return {};
        return lent_;
    }
    /// Where it wants what becomes of that: as many runs of as many bytes, often the same.
    std::span<const std::span<std::byte>> answer_runs() const noexcept {
        if (lent().empty() || !head_.answered) return {};
        return answer_runs_;
    }
    /// The place of the frame that brings it.
    std::optional<std::uint32_t> answer_index() const noexcept { return head_.answered ? std::optional(reference_.index) : std::nullopt; }
    /// As near_link says, for writing there.
    bool begin_writing() noexcept { return near_->begin_writing(); }
    void end_writing() noexcept { near_->end_writing(); }

    std::size_t window() const noexcept { return link_->window(); }
    std::size_t under_way() const noexcept { return link_->under_way(); }
    std::string peer() const { return link_->peer(); }

private:
    friend class cork;

    enum class state { header, references, parked, payload, ended };

    /// While it lives others have the guard of a spread lane.
    class absence {
    public:
        explicit absence(lane& from) noexcept : from_(from) {
            if (!from_.spread_) return;
            from_.call_.lock();
            from_.guard_.unlock();
        }
        absence(const absence&) = delete;
        absence& operator=(const absence&) = delete;
        ~absence() {
            if (!from_.spread_) return;
            from_.call_.unlock();
            from_.guard_.lock();
        }

    private:
        lane& from_;
    };
    /// Afterwards the lane may have been stopped.
    template <class Call>
    auto outside(Call call) noexcept {
        const absence away(*this);
        return call();
    }

    void readable() noexcept;
    void writable() noexcept;
    void repaid() noexcept;
    void go() noexcept;
    void wake() noexcept;
    void decide(std::size_t& budget) noexcept;
    void refer(outgoing& what) noexcept;
    bool answer(const outgoing& what) noexcept;
    bool locates_answer(const outgoing& what, std::span<const std::byte> run, reference where) noexcept;
    bool stage(outgoing& what) noexcept;
    static std::array<reference, most_references + 1> references_of(const outgoing& what) noexcept;
    bool cell_first(std::size_t& budget) noexcept;
    bool take_cell_payload(std::size_t& budget) noexcept;
    bool give_cell(std::size_t& budget) noexcept;
    void take_returned() noexcept;
    void await_return() noexcept;
    void pump_send() noexcept;
    void pump_recv() noexcept;
    void pump_recv_each() noexcept;
    bool uncork() noexcept;
    void gather_batch();
    void append(std::size_t at, std::span<const std::byte> run);
    void wait_readable() noexcept;
    void sent_bytes(std::size_t bytes) noexcept;
    const std::byte* next_header() noexcept;
    bool read_header(const std::byte* from) noexcept;
    bool take_header() noexcept;
    bool take_references() noexcept;
    bool take_lent(std::size_t& budget) noexcept;
    bool read_lent(bool back) noexcept;
    std::error_code fetch_lent() noexcept;
    bool read_and_answer() noexcept;
    bool unstage(std::size_t& budget) noexcept;
    bool pass_through(std::size_t& budget) noexcept;
    moved show(std::size_t& used) noexcept;
    bool nothing_came(std::error_code code) noexcept;
    bool ask_owner() noexcept;
    void fill_from_buffer() noexcept;
    bool recv_more(std::size_t& budget) noexcept;
    void fail(std::error_code why) noexcept;
    void send_failed(std::error_code why) noexcept;
    void drop_frames() noexcept;

    event_loop& loop_;
    std::mutex& guard_;
    std::unique_ptr<tutti::link> link_;
    near_link* const near_;  // null over a network
    lane_owner& owner_;
    const bool spread_;
    cork* const cork_;
    lane* next_kept_ = nullptr;  // of those that the cork keeps back
    bool kept_ = false;
    std::mutex call_;  // of a spread lane: held while bytes move; taken with the guard held
    bool going_ = false;    // go_ is posted
    bool closing_ = false;
    bool closed_ = false;
    detail::callback<&lane::go> go_{*this};
    detail::callback<&lane::readable> readable_{*this};
    detail::callback<&lane::writable> writable_{*this};
    detail::callback<&lane::repaid> repaid_{*this};
    next_turn send_turn_;
    next_turn recv_turn_;

    static constexpr std::size_t turn_bytes = 1 * MiB;  // then others on the loop have their turn

    // Sending: a queue, of which the first frames form the current batch; `offset_` bytes of the first are gone already.
    // Headers and short payloads are copied next to each other: one run for many small frames.
    static constexpr std::size_t short_payload = 1 * KiB;
    static constexpr std::size_t staging_bytes = 16 * KiB;
    outgoing* first_ = nullptr;
    outgoing* last_ = nullptr;
    outgoing* undecided_ = nullptr;  // from here on it is open whether payloads are lent, or written where they belong
    std::size_t offset_ = 0;
    bool pumping_ = false;
    bool waiting_writable_ = false;
    std::error_code send_code_;  // sending is over; what has arrived is still read
    std::vector<std::byte> staging_;
    std::vector<std::span<const std::byte>> send_runs_;

    // Lending: frames whose payload the other side reads where it lies, until it gives them back, in order.
    static constexpr std::size_t lent_from = 128 * KiB;    // to copy less costs no more than to wait until it is given back
    static constexpr std::size_t answered_from =
        8 * KiB;  // so little, where the answer is not copied either, or all that is summed is read once
    outgoing* lent_first_ = nullptr;
    outgoing* lent_last_ = nullptr;
    std::uint64_t lent_count_ = 0;
    std::uint64_t returned_ = 0;  // as last seen
    bool waiting_returned_ = false;
    std::uint64_t waited_beyond_ = 0;
    bool staging_awaited_ = false;  // by what is undecided
    const bool stages_;
    std::optional<staging_buffers> staging_buffers_;              // where payloads lie that are to be answered or summed, and cannot be lent
    std::vector<std::span<std::byte>> lent_;  // what the other side has lent
    std::vector<std::span<std::byte>> answer_runs_;
    bool fetches_ = false;                    // or where that is in its process
    remote_reference reference_;                               // the same, where it wants an answer
    bool through_ = false;
    bool past_caches_ = false;
    bool in_cell_ = false;  // the frame that has come last is an inline cell
    alignas(16) cell_payload cell_;

    // Receiving: bytes read ahead wait in buffer_[begin_, end_).
    static constexpr std::size_t buffer_bytes = 16 * KiB;
    static constexpr std::size_t long_payload = 64 * KiB;  // from here on only the next header is read ahead
    state state_ = state::header;
    bool reading_ = false;
    bool waiting_readable_ = false;
    // The last call got less than it asked for. Where nothing was shown nothing is read: an inline cell may come before what the stream brings next.
    bool drained_ = false;
    frame head_;
    std::vector<std::span<std::byte>> runs_;  // what is still to be filled is runs_[run_...]
    std::size_t run_ = 0;
    std::size_t missing_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace tutti
