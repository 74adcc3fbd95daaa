// The engine that carries out plans on host memory. It takes requests from any thread, moves their slices over the lanes on its loop, and
// ends every operation once, well or with the first failure.
#pragma once

#include <tutti/event_loop.hpp>

#include "base/process.hpp"
#include "engine/admission.hpp"
#include "engine/call_order.hpp"
#include "engine/engine_observer.hpp"
#include "engine/engine_settings.hpp"
#include "engine/lane_loops.hpp"
#include "engine/messenger.hpp"
#include "engine/news.hpp"
#include "engine/operation_pool.hpp"
#include "engine/port_table.hpp"
#include "engine/recent_calls.hpp"
#include "engine/syncs.hpp"
#include "runtime/progress_ticket.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tutti {

/// How long the engine waits for the words of a label that differs from its own. It then fails with the digest alone.
inline constexpr duration label_patience = std::chrono::seconds(1);

/// One for each communicator; the group owns it, and futures keep it alive. Begins operations in the order of their calls, and ends each
/// once. Owns the pool of operations, the ports and the messenger. Calls come from any thread, under `guard_`, where that is said. Bytes
/// move on `loop`, or, for spread bulk lanes, on the loop of the lane; a thread that holds the progress ticket counts as on `loop`.
/// Communicators issue; ports report progress (`progressed`) and failures (`fail_locked`). It never dials, never talks to the store, and
/// never calls its observer with the guard held.
///
/// The life of an operation, by the list that holds it:
///
///     pool_ --issue, take_out--> fresh_ --take_fresh, let_in--> admission_ --room--> live_ --end--> ended_ --finish_ended--> caller
///                                   `--(small, alone, this thread may drive the loop)----^ `--(not awaited yet)----------------^
///
///     caller and engine have released it: operation_pool::take_back
///     failure, close: end_all moves fresh_, admission_ and live_ to ended_
///
/// The way of one call through the code, here and at the peer:
///
///     communicator::all_reduce -> issue, operation_pool::make, issuing::enter -> take_fresh, let_in, begin -> port_sender::add, feed, describe
///         -> lane::send, flush (cork::keep, send_kept) -> stream_lane::send_frames, gather_batch -> link::try_send
///     link::when_readable -> stream_lane::read_frames -> lane::ask_owner -> port_receiver::arrived, expected, land -> (the payload lands) -> landed
///         -> go_on, operation::advance, apply -> progressed -> end -> finish_ended
class engine final : public std::enable_shared_from_this<engine> {
public:
    /// Several bulk lanes are spread over `loop`, which has the first, and the `further` ones, which outlive the engine's use of them.
    engine(event_loop& loop, engine_identity who, engine_settings settings, engine_observer& observer,
           std::vector<event_loop*> further = {});
    ~engine();

    /// Any thread. Fixes the operation's place in the order: `place` if it was reserved, the next one if 0. Never blocks on a peer. The
    /// result has two references: the caller's and the engine's.
    operation& issue(const request& what, duration default_deadline, std::uint64_t place = 0);
    /// Any thread: makes a persistent call, which can be issued many times, one at a time.
    std::unique_ptr<detail::repeated_call> keep(const request& what, duration default_deadline);
    /// Any thread: reserves the next `count` places in the order, at least one, and returns the first. Calls behind them begin when all
    /// reserved places have been called.
    std::uint64_t reserve(std::size_t count);
    /// Any thread: the places [next, end) will not be used. Fails the engine, unless there are none.
    void give_up(std::uint64_t next, std::uint64_t end) noexcept;
    /// Any thread: ends when all collectives and messages, but for probes, that were called before have ended.
    future<> sync();
    operation& issue(detail::repeated_call& call);
    void forget(detail::repeated_call& call) noexcept;
    messenger& messages() noexcept { return messages_; }

    /// On the loop: brings the link of a lane. The link is on this loop, and is moved to that of its lane.
    void attach(rank peer, lane_id which, std::unique_ptr<link> over);
    /// On the loop: the peer said goodbye, but not over this lane, which was not made or has ended.
    void peer_left(rank peer, lane_id which);
    /// Any thread: ends all pending and later calls with `why`. The first cause stays.
    void fail(report why) noexcept;
    /// Does the same for a failure found here: the observer tells the other ranks.
    void fail_and_tell(report why) noexcept;
    /// Any thread: the communicator is destroyed. If anything is under way, that is an abort, which the observer tells the other ranks.
    void drop() noexcept;
    /// On the loop: sends goodbye on every lane, behind what is queued.
    void say_goodbye() noexcept;
    /// Returns how many places in the order have been given out, those of reserved calls included.
    std::uint64_t calls() noexcept;
    /// On the loop: returns whether nothing is under way and every lane's bytes are with the kernel.
    bool idle() noexcept;
    /// Returns the first call that has not ended and that peers may wait for, in words.
    std::optional<std::string> unfinished() noexcept;
    /// On the loop, or when no thread runs it: ends pending calls with error::closed, and all lanes. Nothing happens afterwards.
    void shut_down() noexcept;

    /// Any thread: returns the other end of a lane to `peer` that collectives use; empty when there is none.
    std::string route(rank peer) noexcept;
    /// Any thread: `peer` waits in a collective that it believes to be `theirs`, with that label. Fails the engine if this rank called
    /// another.
    void compare(rank peer, std::uint64_t sequence, const call_signature& theirs, std::string_view label = {}) noexcept;
    /// Any thread: returns why the engine has failed, if it has.
    std::optional<report> failed() noexcept;
    const engine_identity& who() const noexcept { return who_; }
    const engine_settings& settings() const noexcept { return settings_; }
    /// Any thread: returns the algorithm that a call would use.
    const algorithm& chosen(collective kind, std::size_t vector_bytes);
    /// Lets algorithms be chosen by other costs from now on. On all ranks between the same two operations, while nothing is under way.
    void reprice(const cost_model& costs);

    /// Names the process that made the engine: in one forked since, the engine does nothing.
    const birthplace& made() const noexcept { return made_; }

    // For its parts: operations, ports, the messenger, syncs. With the guard held, unless they say otherwise.

    const lane_loops& loops() const noexcept { return loops_; }  // any thread, as the next two
    event_loop& loop() const noexcept { return loops_.own(); }
    std::mutex& guard() noexcept { return guard_; }
    /// Returns what keeps frames of all lanes back, so that they leave together.
    cork& together() noexcept { return cork_; }
    operation_pool& pool() noexcept { return pool_; }
    class syncs& syncs() noexcept {
        return syncs_;
    }
    const recent_calls& recent() const noexcept { return recent_; }

    /// Returns whether no call begins any more: the engine has failed, or is shut down.
    bool over() const noexcept { return failure_ || shut_; }
    /// Returns whether nothing is posted to the loop any more.
    bool shut() const noexcept { return shut_; }
    bool said_goodbye() const noexcept { return said_goodbye_; }
    /// Returns why all calls end, as this rank tells it: the failure, or that the communicator was closed.
    report ending() const;
    /// Returns whether one of the first `collectives` or `messages` has not ended, or its caller has not been told.
    bool under_way(std::uint64_t collectives, std::uint64_t messages) const noexcept;
    /// Returns whether the operation at this place has joined its ports.
    bool has_begun(lane_kind lanes, std::uint64_t sequence) const noexcept;

    /// An operation has moved on: its next slices may leave, and its parked frames may land.
    void progressed(operation& which) noexcept;
    /// A frame of an operation has counted: moves the operation on. If not `alone`, lanes share its frames: one that ended early counts for
    /// nothing yet, but makes room in the window.
    void go_on(operation& of, bool alone) noexcept {
        if (of.advance()) progressed(of);
        else if (!alone) feed(of);
    }
    /// A lane keeps a frame of an operation that has not begun here.
    void keeps_ahead() noexcept { ahead_ = true; }
    /// The observer is to dial lanes of this kind, when it is told.
    void want(rank peer, lane_kind kind) { news_.wanted.push_back({peer, kind}); }
    /// A link ended without a goodbye.
    void lost(rank peer, lane_id which, std::error_code why) noexcept;
    /// A peer has made another call.
    void disagreed(const differing_call& found, std::string_view label = {}) noexcept;
    /// Keeps the first cause, stops all lanes, and ends all calls. `tell`: the failure was found here, so the observer must spread it.
    void fail_locked(report why, bool tell = true) noexcept;
    /// A custom_op threw `what`.
    void operator_threw(operation& which, const char* what) noexcept;

    void cancel(operation& which, const char* reason) noexcept;  // any thread, without the guard
    void overdue(operation& which) noexcept;                     // on the loop, without it
    /// Any thread, without the guard: takes back an operation when the pool is closed, which may be the end of the engine.
    void put_back(operation& which) noexcept;
    /// On the loop, without the guard: tells the observer what was found under it.
    void tell_observer() noexcept;

private:
    /// Holds the guard while a call becomes an operation. Its end releases the guard and, if this thread drives the loop, tells the
    /// observer.
    class issuing {
    public:
        explicit issuing(engine& of) : of_(of), lock_(of.guard_) {}
        issuing(const issuing&) = delete;
        issuing& operator=(const issuing&) = delete;
        ~issuing();

        /// Gives the operation its place (0: the next), and starts it or lets the loop do so.
        void enter(operation& made, std::uint64_t place = 0) noexcept;

    private:
        engine& of_;
        std::optional<detail::progress_ticket> here_;  // given back after the guard is released
        std::unique_lock<std::mutex> lock_;
    };

    operation& start_again(detail::repeated_call& call);
    void refuse(operation& made);
    void too_many(const call_signature& next);
    void too_early(const operation& running);
    port& port_to(rank peer, lane_kind kind) {
        port* const found = ports_.find(peer, kind);
        return found ? *found : first_port_to(peer, kind);
    }
    port& first_port_to(rank peer, lane_kind kind);
    std::unique_ptr<link> bring(rank peer, lane_id which, std::unique_ptr<link> over) noexcept;
    void admit(rank peer, lane_id which, std::unique_ptr<link> over);
    void part() noexcept;
    operation& ready_for(const request& what);
    operation& accept(const request& what, duration default_deadline);
    void post_fresh() noexcept;
    void take_fresh() noexcept;
    void start_fresh() noexcept;
    void watch_held() noexcept;
    template <class Channel>
    port* join(Channel& channel, lane_kind kind, port* left) noexcept;
    void let_in(operation& next) noexcept;
    void begin(operation& which) noexcept;
    void resume_ahead() noexcept;
    static void feed(operation& which) noexcept;
    void end(operation& which) noexcept;
    void end_all() noexcept;
    void fail_own(error code, std::string cause) noexcept;
    void unanswered() noexcept;
    void watch(operation& which) noexcept;
    report report_of(const operation& which) const;
    operation* first_live(lane_kind lanes) const noexcept;
    std::string about_stall(const operation& which, duration waited) const;
    std::string behind_reserved(const operation& which) const;
    void time_out(operation& which) noexcept;
    void finish_ended() noexcept;
    void post_news() noexcept;
    void hear_news() noexcept;
    bool has_news() const noexcept { return !shut_ && (failure_ || news_.any()); }

    const birthplace made_;
    const engine_identity who_;
    engine_settings settings_;
    const lane_loops loops_;
    event_loop& loop_;  // its own
    engine_observer* observer_;

    std::mutex guard_;  // over the lanes, and everything below
    cork cork_;         // of all its lanes
    call_order order_;
    recent_calls recent_;
    operation_pool pool_;
    admission admission_;                  // between fresh_ and live_
    operation_list fresh_, live_, ended_;  // fresh_ by sequence
    std::size_t pending_ = 0;
    port_table ports_;
    messenger messages_;
    class syncs syncs_;
    news news_;
    std::optional<report> failure_;
    bool ahead_ = false;         // a lane keeps a frame of an operation that has not begun here
    bool fresh_posted_ = false;  // on_fresh_ is posted
    bool news_posted_ = false;   // on_news_ is posted
    bool said_goodbye_ = false;
    bool shut_ = false;
    detail::callback<&engine::take_fresh> on_fresh_{*this};
    detail::callback<&engine::finish_ended> on_ended_{*this};
    detail::callback<&engine::hear_news> on_news_{*this};
    detail::alarm<&engine::unanswered> answer_due_{*this};
};

}  // namespace tutti
