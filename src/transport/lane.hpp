// Frames between two ranks, in order. A lane sends frames in the order in which it gets them, and asks its owner where each arriving frame
// shall land. It knows nothing of operations. How frames travel is up to the two kinds of lane: over a stream of bytes (stream_lane.cpp),
// or in shared memory (near_lane.cpp).
#pragma once

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include "transport/cork.hpp"
#include "transport/lane_owner.hpp"
#include "transport/next_turn.hpp"
#include "transport/outgoing.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// Owns its link, its buffers, and the order of queued frames; the frames and payloads stay their senders'. Used with `guard` held, on
/// `loop` unless said otherwise. Ports, message ports and the control tree send and resume; the loop calls when the link can move bytes. It
/// never looks into a payload, and never decides where one lands. It never waits for bytes or for room. When it takes lent memory back, it
/// waits for a peer that is writing there; `stop` also waits for a call that is moving bytes.
///
/// A *spread* lane shares the guard with lanes on other loops. It releases the guard while it moves bytes, and only then. A thread that
/// holds the guard may therefore meet such a call in progress; `stop` waits for its end. Only the lane's own loop moves bytes: `send`,
/// `flush` and `resume` come from any thread, and the last two post the lane to that loop.
///
/// Receiving, by state:
///
///     header --(header taken)--> announced --(owner: here, past_caches, through)--> payload --(all landed)--> header
///                                |      ^
///                                |      `--(owner: park: nothing is read until `resume`)
///                                `--(short frame: owner has `taken` it)--> header
///
///     any state --(stop, close, refuse, protocol error, failed link, end of the stream)--> ended
class lane {
public:
    /// The owner's frames go over this lane alone (single), over several lanes of one loop (shared), or over lanes on several loops
    /// (spread).
    enum class kind { single, shared, spread };

    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;
    virtual ~lane() = default;  // each kind of lane closes itself

    /// Sends a short frame at once. Returns false, and has done nothing, when the frame must be queued.
    virtual bool send_now(const frame& head, std::span<const std::byte> payload) noexcept {
        return static_cast<void>(head), static_cast<void>(payload), false;
    }
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
    /// Takes what the peer has sent by now without waiting for the loop to try, where that is no system call.
    virtual void look() noexcept {}
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

    std::size_t window() const noexcept { return link_->window(); }
    std::size_t under_way() const noexcept { return link_->under_way(); }
    std::string peer() const { return link_->peer(); }

    // Of lanes in shared memory only.

    /// Returns whether the peer shares memory with this process.
    virtual bool near() const noexcept { return false; }
    /// Returns what the peer has lent for the frame that the owner is asked about, or that is parked. Empty when the payload comes in
    /// another way.
    virtual std::span<const std::span<std::byte>> lent() const noexcept { return {}; }
    /// Returns where the peer wants the result: as many runs of as many bytes, often the same memory.
    virtual std::span<const std::span<std::byte>> answer_runs() const noexcept { return {}; }
    /// Returns the index of the frame that is to bring that result.
    virtual std::optional<std::uint32_t> answer_index() const noexcept { return std::nullopt; }
    /// Bracket writes to `answer_runs`, as near_link says.
    virtual bool begin_writing() noexcept { return false; }
    virtual void end_writing() noexcept {}

private:
    friend class cork;

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

    void readable() noexcept;
    void writable() noexcept;
    void go() noexcept;
    void wake() noexcept;
    void drop_frames() noexcept;

protected:
    enum class state {
        header,     // between two frames
        announced,  // a header is there, and the owner has not accepted the frame yet
        payload,    // runs_ or the owner take it; missing_ bytes are to come
        ended       // nothing is read or sent any more
    };

    lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, lane_owner& owner, kind how, cork* together = nullptr);

    // How frames travel.

    /// Sends frames from first_ on, until the queue is empty, the link takes no more, or the turn is over.
    virtual void send_frames() noexcept = 0;
    /// Reads frames until nothing comes, one is parked, or the turn is over.
    virtual void read_frames() noexcept = 0;
    /// The queued frames have been dropped.
    virtual void dropped() noexcept {}
    /// Frames whose payload the peer has read meanwhile are sent.
    virtual void take_returned() noexcept {}
    /// Returns whether the lane holds a frame that is not sent yet.
    virtual bool queues() const noexcept { return first_ != nullptr; }

    // For both kinds to do that.

    void pump_send() noexcept;
    void pump_recv() noexcept;
    /// Takes the first frame out of the queue.
    outgoing& take_first() noexcept;
    /// announced -> payload, if the owner takes the frame; announced or ended if it does not. Returns whether it does.
    bool ask_owner() noexcept;
    /// The link has brought so many bytes of the payload into runs_.
    void landed(std::size_t bytes) noexcept;
    /// payload -> header: all bytes have landed.
    void deliver() noexcept;
    /// Return whether the turn's budget is used up, so that the loop's other lanes have their turn before this lane goes on. A lane whose
    /// sending has failed reads to the end without a pause, to find out why.
    bool turn_is_over_for_sending(std::size_t budget) noexcept;
    bool turn_is_over_for_reading(std::size_t budget) noexcept;
    /// Waits until the link has room again.
    void await_room() noexcept;
    /// Ends the lane, and tells the owner why.
    void fail(std::error_code why) noexcept;
    /// Sending is over, but the peer may have said why: the rest that it sent is read first, and its end loses the lane. A parked lane reads
    /// nothing, so it is lost at once.
    void send_failed(std::error_code why) noexcept;
    /// Makes a call that moves bytes, of a spread lane without the guard. Afterwards the lane may have been stopped: callers look at state_
    /// again.
    template <class Call>
    auto outside(Call call) noexcept {
        const absence away(*this);
        return call();
    }

    static constexpr std::size_t turn_bytes = 1 * MiB;  // in one direction: then the loop's other lanes have their turn

    event_loop& loop_;
    std::mutex& guard_;
    const std::unique_ptr<tutti::link> link_;
    lane_owner& owner_;
    const bool spread_;
    cork* const cork_;
    detail::callback<&lane::readable> readable_{*this};
    detail::callback<&lane::writable> writable_{*this};

    outgoing* first_ = nullptr;
    outgoing* last_ = nullptr;
    bool waiting_writable_ = false;
    std::error_code send_code_;  // sending is over; what has arrived is still read

    state state_ = state::header;
    bool waiting_readable_ = false;
    frame head_;
    std::vector<std::span<std::byte>> runs_;  // to be filled from runs_[run_] on
    std::size_t run_ = 0;
    std::size_t missing_ = 0;
    bool through_ = false;      // the owner's answer to the present frame
    bool past_caches_ = false;  // the same

private:
    lane* next_kept_ = nullptr;  // in the cork's list
    bool kept_ = false;          // in that list
    std::mutex call_;            // of a spread lane: held while bytes move; taken with the guard held
    bool going_ = false;         // go_ is posted
    bool closing_ = false;       // go_ is to close
    bool closed_ = false;
    bool pumping_ = false;  // pump_send runs: frames that `sent` queues go in the same loop
    bool reading_ = false;  // pump_recv runs: `resume` has nothing to do
    detail::callback<&lane::go> go_{*this};
    next_turn send_turn_;
    next_turn recv_turn_;
};

/// Makes the kind of lane that fits the link. `together`, if not null, keeps frames back so that those of several lanes leave together. It
/// is ignored in shared memory, where a send is no system call, and where lanes share frames.
std::unique_ptr<lane> make_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, lane_owner& owner,
                                lane::kind how = lane::kind::single, cork* together = nullptr);

}  // namespace tutti
