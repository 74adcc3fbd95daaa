// Frames over a link. A lane sends frames in the order in which it gets them, many to a system call. It asks its owner where each arriving
// frame shall land. It knows nothing of operations.
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

/// Memory of the peer in which it wants the payload of frame number `index` of the operation.
struct remote_reference {
    std::uint32_t index = 0;
    std::size_t count = 0;
    std::array<reference, most_references> parts;
    bool answered = false;  // the payload has been written there already, in the pass that read what was lent

    std::span<const reference> where() const noexcept { return std::span(parts).first(count); }
};

/// A frame on its way out. It belongs to its sender (send_channel, parcel, message and so on), which keeps it and the payload's memory as
/// they are from `lane::send` to `sent`. The lane links it into its queues meanwhile.
class outgoing {
public:
    frame head;
    bool soon_written = false;  // the payload's memory will be written again while it is in the caches
    bool summed = false;        // the receiver adds it up with payloads of other ranks for the same blocks, as far as this rank can tell
    /// Index of the frame by which the peer brings back what belongs into the payload's memory, or `answer_beyond` bytes further on. No
    /// step writes there until then.
    std::optional<std::uint32_t> answer;
    std::ptrdiff_t answer_beyond = 0;
    remote_reference into;  // where the peer wants the payload; without parts it has not said so

    // The lane's own.
    outgoing* next_in_lane = nullptr;
    std::array<reference, most_references> lends{};  // head.references of them travel instead of the payload
    const std::byte* staged = nullptr;               // the first staging buffer, if the payload was copied to such
    std::uint64_t number = 0;                        // among the frames that lend, from 1: they are given back in that order

    /// Appends the runs of the payload, head.payload_bytes in all. After a partial send the lane calls it again and must get the same runs.
    virtual void gather(std::vector<std::span<const std::byte>>& runs) const = 0;
    /// Neither side reads the payload's memory any more: all bytes are with the kernel, or copied, or the peer has given them back. The
    /// object may be queued again at once.
    virtual void sent() noexcept = 0;

protected:
    ~outgoing() = default;
};

/// Where an arriving payload goes.
enum class landing {
    here,         // into the runs that the owner has appended, head.payload_bytes in all
    past_caches,  // the same, and no step reads it there soon
    through,      // the owner takes it part by part, where the link shows it; only from a lane that is `near`
    park,         // nothing is read until `lane::resume`, then the owner is asked again: back-pressure for a frame that came too early
    refuse        // the lane ends: it reads and sends nothing more
};

/// The receiver of a lane's frames: a port_lane of the engine, a message_port of the messenger, or the group's control tree. The lane calls
/// it with the guard held unless said otherwise.
class lane_owner {
public:
    /// A frame's header has arrived: where shall the payload go?
    virtual landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept = 0;
    /// A short frame has arrived, and all of its payload. Returns false, and has done nothing, when `arrived` is to be asked instead.
    virtual bool taken(const frame& head, std::span<const std::byte> payload) noexcept {
        return static_cast<void>(head), static_cast<void>(payload), false;
    }
    /// Takes the part of a payload that begins at `offset`. Writes the result to `back`, too, if that is not null; it may be the part's own
    /// memory. Returns how many bytes it took, whole elements. A spread lane calls it without the guard.
    virtual std::size_t through(const frame& head, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept;
    /// Only from a spread lane, without the guard: a payload has landed whole. Long work on it alone belongs here, since other lanes go on.
    virtual void settle(const frame& head) noexcept { static_cast<void>(head); }
    virtual void landed(const frame& head) noexcept = 0;
    /// Returns whether the sum that `through` makes of the payload is the content of frame `index`, the answer. Then `through` also writes
    /// it where the peer wants it, and that frame needs no payload.
    virtual bool answers(const frame& head, std::uint32_t index) noexcept { return static_cast<void>(head), static_cast<void>(index), false; }
    /// The payload was lent, and the peer wants an answer: frame `what.index` may be written straight to `what.parts`.
    virtual void lent(const frame& head, const remote_reference& what) noexcept { static_cast<void>(head), static_cast<void>(what); }
    /// Returns whether the owner expects a frame, so that the loop tries the link again before it sleeps.
    virtual bool awaits() const noexcept { return false; }
    /// The stream ended, failed, or carried bytes that are no frame. Called once.
    virtual void lost(std::error_code why) noexcept = 0;

protected:
    ~lane_owner() = default;
};

/// Owns its link, its buffers, and the order of queued frames; the frames and payloads stay their senders'. Used with `guard` held, on
/// `loop` unless said otherwise. Ports, message ports and the control tree send and resume; the loop calls when the link can move bytes. It
/// never looks into a payload, and never decides where one lands. It never waits for bytes or for room. When it takes lent memory back, it
/// waits for a peer that is writing there; `stop` also waits for a call that is moving bytes.
///
/// A *spread* lane shares the guard with lanes on other loops. It releases the guard while it moves bytes, and only then. A thread that
/// holds the guard may therefore meet such a call in progress; `stop` waits for its end. Only the lane's own loop moves bytes: `send`,
/// `flush` and `resume` come from any thread, and the last two post the lane to that loop.
///
/// Receiving (`pump_recv`), by state:
///
///     header --(header taken)--> parked --(owner: here, past_caches, through)--> payload --(all landed)--> header
///        |                       ^    |
///        | (payload lent)        |    +--(short frame: owner has `taken` it)---------------------------> header
///        v                       |    +--(owner: park)--> parked, and nothing is read until `resume`
///     references --(all taken)---+
///
///     any state --(stop, close, refuse, protocol error, failed link, end of the stream)--> ended
///
/// Sending (`pump_send`): one list from `first_` to `last_`, then the list of lent frames.
///
///     send --> [undecided_ .. last_] --decide--> [first_ .. undecided_) --the link takes it--> sent(), if copied, staged or in place
///                                                                         `--if lent--> [lent_first_ .. lent_last_] --given back--> sent()
///
/// It pauses for the next turn (1 MiB gone), for room (`when_writable`), or for staging buffers (`when_returned`).
class lane final {
public:
    /// The owner's frames go over this lane alone (single), over several lanes of one loop (shared), or over lanes on several loops
    /// (spread).
    enum class kind { single, shared, spread };

    /// `together`, if not null, keeps frames back so that those of several lanes leave together. Ignored in shared memory, where a send is
    /// no system call, and where lanes share frames.
    lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how = kind::single,
         cork* together = nullptr);
    ~lane();

    /// Sends a short frame as an inline cell at once. Returns false, and has done nothing, when the frame must be queued.
    bool send_now(const frame& head, std::span<const std::byte> payload) noexcept;
    /// Queues `what`.
    void send(outgoing& what) noexcept;
    /// Gives queued frames to the link: at once, when the cork is released, or, on a spread lane, on its loop.
    void flush() noexcept;
    /// The owner awaits a frame. A spread lane asks `awaits` itself, on its loop, when it waits next.
    void expect() noexcept {
        if (!spread_) link_->expect(true);
    }
    /// Starts reading, and asks the owner about a parked frame again.
    void resume() noexcept;
    /// Returns how many bytes of the payload that is landing are still to come.
    std::size_t missing() const noexcept { return state_ == state::payload ? missing_ : 0; }
    /// Sends the missing bytes to `runs` of as many bytes. Not for a spread lane, which may be writing to the old ones at this moment.
    void redirect(std::span<const std::span<std::byte>> runs);
    /// Takes what the peer has sent by now, in shared memory, without waiting for the loop to try.
    void look() noexcept;
    /// Drops queued frames and touches no payload any more. On any thread. No call to the owner or to queued frames comes afterwards.
    void stop() noexcept;
    /// Stops, and ends the link.
    void close() noexcept;
    /// Stops a spread lane, on any thread; its loop then ends the link.
    void close_soon() noexcept;
    /// Sends what can be sent at once, and closes.
    void part() noexcept;
    /// Returns whether every queued byte is with the kernel or with the peer, or lies in staging buffers for it.
    bool flushed() const noexcept { return !queues() && link_->handed_over(); }
    /// Returns whether the peer shares memory with this process.
    bool near() const noexcept { return near_ != nullptr; }

    /// Returns what the peer has lent for the frame that the owner is asked about, or that is parked. Empty when the payload comes in
    /// another way.
    std::span<const std::span<std::byte>> lent() const noexcept {
        if (state_ != state::parked || head_.references == 0) return {};
        return lent_;
    }
    /// Returns where the peer wants the result: as many runs of as many bytes, often the same memory.
    std::span<const std::span<std::byte>> answer_runs() const noexcept {
        if (lent().empty() || !head_.answered) return {};
        return answer_runs_;
    }
    /// Returns the index of the frame that is to bring that result.
    std::optional<std::uint32_t> answer_index() const noexcept { return head_.answered ? std::optional(reference_.index) : std::nullopt; }
    /// Bracket writes to `answer_runs`, as near_link says.
    bool begin_writing() noexcept { return near_->begin_writing(); }
    void end_writing() noexcept { near_->end_writing(); }

    std::size_t window() const noexcept { return link_->window(); }
    std::size_t under_way() const noexcept { return link_->under_way(); }
    std::string peer() const { return link_->peer(); }

private:
    friend class cork;

    enum class state {
        header,      // between two frames
        references,  // a header is there; the references that stand in place of its payload are not
        parked,      // the owner has not accepted the frame yet
        payload,     // runs_ or the owner take it; missing_ bytes are to come
        ended        // nothing is read or sent any more
    };

    /// Releases the guard of a spread lane while it lives, and holds call_ instead. It takes call_ before it releases the guard, and the
    /// guard after it has released call_: no thread waits for the guard with a call_ in hand.
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
    /// Makes a call that moves bytes. Afterwards the lane may have been stopped: callers look at state_ again.
    template <class Call>
    auto outside(Call call) noexcept {
        const absence away(*this);
        return call();
    }

    bool queues() const noexcept { return first_ != nullptr || lent_first_ != nullptr; }
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
    lane* next_kept_ = nullptr;  // in the cork's list
    bool kept_ = false;          // in that list
    std::mutex call_;            // of a spread lane: held while bytes move; taken with the guard held
    bool going_ = false;         // go_ is posted
    bool closing_ = false;       // go_ is to close
    bool closed_ = false;
    detail::callback<&lane::go> go_{*this};
    detail::callback<&lane::readable> readable_{*this};
    detail::callback<&lane::writable> writable_{*this};
    detail::callback<&lane::repaid> repaid_{*this};
    next_turn send_turn_;
    next_turn recv_turn_;

    static constexpr std::size_t turn_bytes = 1 * MiB;  // in one direction: then the loop's other lanes have their turn

    // Sending. The first frames of the queue form the current batch. Headers and short payloads are copied next to each other into
    // joined_, so many small frames are one run of a system call.
    static constexpr std::size_t short_payload = 1 * KiB;   // longer payloads are runs of their own
    static constexpr std::size_t joined_bytes = 16 * KiB;   // copied by one call at most
    outgoing* first_ = nullptr;
    outgoing* last_ = nullptr;
    outgoing* undecided_ = nullptr;  // the first frame for which `decide` has not chosen how the payload travels
    std::size_t offset_ = 0;         // bytes of the first frame that have gone
    bool pumping_ = false;           // pump_send runs: frames that `sent` queues go in the same loop
    bool waiting_writable_ = false;
    std::error_code send_code_;  // sending is over; what has arrived is still read
    const std::unique_ptr<std::byte[]> joined_;
    std::vector<std::span<const std::byte>> send_runs_;

    // Lending: the peer reads these payloads where they lie, and gives them back in order.
    static constexpr std::size_t lent_from = 128 * KiB;  // to copy less costs no more than to wait until it is given back
    // Lower where lending saves more: the answer is not copied either, or all parts of a sum are read once.
    static constexpr std::size_t answered_from = 8 * KiB;
    outgoing* lent_first_ = nullptr;
    outgoing* lent_last_ = nullptr;
    std::uint64_t lent_count_ = 0;
    std::uint64_t returned_ = 0;  // as last seen
    bool waiting_returned_ = false;
    std::uint64_t waited_beyond_ = 0;                 // what returned_ was then
    bool staging_awaited_ = false;                    // the first undecided frame waits for staging buffers
    const bool may_stage_;                               // a single lane: over several, the answer may come by another than the buffers'
    std::optional<staging_buffers> staging_buffers_;  // payloads that are to be answered or summed, and cannot be lent
    std::vector<std::span<std::byte>> lent_;          // what the peer has lent for this frame
    std::vector<std::span<std::byte>> answer_runs_;
    remote_reference reference_;  // those references, moved on to where the answer belongs
    bool through_ = false;        // the owner's answer to the present frame
    bool past_caches_ = false;    // the same
    bool in_cell_ = false;        // the present frame is an inline cell
    alignas(16) cell_payload cell_;

    // Receiving: bytes read ahead wait in buffer_[begin_, end_).
    static constexpr std::size_t buffer_bytes = 16 * KiB;
    // Behind a longer payload only the next header is read ahead: more would be payload, which is copied once more out of the buffer.
    static constexpr std::size_t long_payload = 64 * KiB;
    state state_ = state::header;
    bool reading_ = false;  // pump_recv runs: `resume` has nothing to do
    bool waiting_readable_ = false;
    // The last call got less than it asked for, so the next would find nothing. After a `peek` that showed nothing the stream must not be
    // read at all: an inline cell may come before what it brings next.
    bool drained_ = false;
    frame head_;
    std::vector<std::span<std::byte>> runs_;  // to be filled from runs_[run_] on
    std::size_t run_ = 0;
    std::size_t missing_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    const std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace tutti
