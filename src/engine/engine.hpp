// The one engine that carries out plans on host memory: takes requests from any thread, moves their slices over the lanes on its
// loop, and ends every operation once, well or with the first failure.
#pragma once

#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>

#include "algorithm/tuning.hpp"
#include "base/process.hpp"
#include "engine/admission.hpp"
#include "engine/messenger.hpp"
#include "engine/operation_list.hpp"
#include "engine/port.hpp"
#include "runtime/progress_ticket.hpp"

#include <array>
#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tutti {

/// What all ranks of a group must have alike, because it decides what goes over the wire. Agreed when the group forms.
struct engine_settings {
    std::size_t slice_bytes = default_slice_bytes;  // a transfer travels in pieces of about this size
    std::size_t reduced_slice_bytes = 0;            // the same where it is reduced and not request::allocated; 0: slice_bytes
    std::size_t packet_bytes = 0;                   // pieces and near-equal blocks are multiples of it where they can be; 0: of nothing
    std::size_t segment = 0;                    // slices that go through all rounds before the next ones do; 0: as engine::segment says
    std::size_t most_under_way = 0;             // bytes for `admission`, each rank's own; 0: as engine::most_under_way says
    std::size_t cache_bytes = 0;                // of the last cache that the ranks of a host share, each rank's own; 0: as the system says
    std::size_t small_bytes = 64 * KiB;         // up to here an operation uses the small lane
    int lanes = 1;                              // for bulk data between two ranks, at most most_lanes
    cost_model costs;
    std::vector<tuned> tuning;                  // taken whatever they cost, in groups of that size on one host, unless request::allocated
    bool deterministic = false;                 // only algorithms that combine in one order and grouping, the forced ones too
    std::vector<const algorithm*> forced;       // taken whatever they cost, where they serve the group
    duration stall_warning{};                   // a collective that has waited so long is told of, each rank's own; 0: never
    std::size_t pending_limit = 1 << 20;        // operations under way on one communicator, and as many messages
    message_settings messages;
};

struct engine_identity {
    std::string communicator = "world";
    std::uint32_t epoch = 0;
    rank me = 0;
    int size = 1;
    host_map hosts;
};

/// Told, on the loop and without the guard, what the engine cannot do itself.
class engine_observer {
public:
    /// Lanes to `peer` are needed, all of a kind; answer with engine::attach for each.
    virtual void wanted(rank peer, lane_kind kind) noexcept = 0;
    /// The engine has failed, for a reason found here. Once.
    virtual void failed(const report& why) noexcept = 0;
    /// A link ended without a goodbye. Whether its process died is for the observer to find out; it answers with engine::fail, or with
    /// engine::peer_left.
    virtual void link_lost(rank peer, lane_id which, std::error_code why) noexcept = 0;
    /// A collective has been waiting for a while. Whoever hears of it answers with engine::compare.
    virtual void waits(std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept = 0;
    /// One has been waiting for so long that people should know: for whom, in words.
    virtual void stalls(const std::string& sentence) noexcept = 0;
    /// That rank has another name for the collective, which only it knows in words. It answers with engine::compare.
    virtual void differs(rank peer, std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept = 0;

protected:
    ~engine_observer() = default;
};

/// Who waits in a collective asks after so long whether the others wait in the same one, then after twice as long, and so on.
inline constexpr duration first_patience = std::chrono::milliseconds(250);
inline constexpr duration last_patience = 256 * first_patience;
/// So long the engine waits for the words of a label that differs from its own.
inline constexpr duration label_patience = std::chrono::seconds(1);

class engine final : public std::enable_shared_from_this<engine> {
public:
    /// `further`: loops of other threads, which run for longer than this one is used. Where there are several bulk lanes they are spread over
    /// them, the first on `loop`.
    engine(event_loop& loop, engine_identity who, engine_settings settings, engine_observer& observer, std::vector<event_loop*> further = {});
    ~engine();

    /// Any thread. The operation's place in the order is fixed here. Never blocks on a peer. The result has two references: the
    /// caller's and the engine's.
    /// `place`: reserved; 0: the next.
    operation& issue(const request& what, duration default_deadline, std::uint64_t place = 0);
    /// Any thread: makes a call that can be issued many times, one at a time.
    std::unique_ptr<detail::repeated_call> keep(const request& what, duration default_deadline);
    /// Any thread: so many next places in the order, at least one, for calls that say so. Those behind them begin when all these have been called.
    /// The first of them.
    std::uint64_t reserve(std::size_t count);
    /// Any thread: the places from `next` on, before `end`, are not used.
    void give_up(std::uint64_t next, std::uint64_t end) noexcept;
    /// Any thread: ends when all collectives and messages, but for probes, that were called before have ended.
    future<> sync();
    operation& issue(detail::repeated_call& call);
    void forget(detail::repeated_call& call) noexcept;
    messenger& messages() noexcept { return messages_; }

    /// On the loop: a lane is there. The link is one of this loop; it is moved to that of its lane.
    void attach(rank peer, lane_id which, std::unique_ptr<link> over);
    /// On the loop: the peer said goodbye, but not over this lane, because it was not made or has ended.
    void peer_left(rank peer, lane_id which);
    /// Any thread: everything pending ends with `why`, and so does everything that is issued later. The first cause stays.
    void fail(report why) noexcept;
    /// The same for a failure found here: the observer hears of it.
    void fail_and_tell(report why) noexcept;
    /// Any thread: the communicator goes. If anything is under way, that is an abort, of which the observer hears.
    void drop() noexcept;
    /// On the loop: sends goodbye on every lane, behind what is queued.
    void say_goodbye() noexcept;
    /// Collectives called in all.
    std::uint64_t calls() noexcept;
    /// On the loop: whether nothing is under way and every lane's bytes are with the kernel.
    bool idle() noexcept;
    /// The first call that has not ended and that others may wait for, in words.
    std::optional<std::string> unfinished() noexcept;
    /// On the loop, or when nobody runs it: ends what is pending with error::closed, and all lanes. Nothing happens afterwards.
    void shut_down() noexcept;

    /// Any thread: the other end of a lane to `peer` that collectives use; empty when there is none.
    std::string route(rank peer) noexcept;
    /// Any thread: another rank has called a collective, and believes it to be this one, of that name.
    void compare(rank peer, std::uint64_t sequence, const descriptor& theirs, std::string_view label = {}) noexcept;
    /// Any thread: why it has failed, if it has.
    std::optional<report> failed() noexcept;
    const engine_identity& who() const noexcept { return who_; }
    const engine_settings& settings() const noexcept { return settings_; }
    /// Any thread. `allocated`: as of a call that says so.
    const algorithm& chosen(collective kind, std::size_t vector_bytes, bool allocated = false);
    /// On all ranks between the same two operations, while nothing is under way: algorithms are chosen by other costs from now on.
    void reprice(const cost_model& costs);

    /// Where it was made: in a process that was forked since, it does nothing.
    const birthplace& made() const noexcept { return made_; }

    // For operations and ports.
    void cancel(operation& which, const char* reason) noexcept;
    void overdue(operation& which) noexcept;
    /// With the guard held: what a custom_op threw.
    void operator_threw(operation& which, const char* what) noexcept;
    /// Any thread: its caller and the engine have let go of it. False when the engine has shut down: then it is to be put back, which may be
    /// the end of the engine.
    bool take_back(operation& which) noexcept;
    void take_scratch(operation& to, std::size_t bytes) noexcept;
    void put_back(operation& which) noexcept;

private:
    friend class port;
    friend class messenger;

    /// A call, to name what a straggler speaks of.
    struct called_before {
        std::uint64_t sequence = 0;
        descriptor what;
        label_text label;  // where there is one
    };
    struct plan_key {
        collective kind;
        std::uint8_t algorithm;
        rank root;
        friend auto operator<=>(const plan_key&, const plan_key&) = default;
    };

    /// A plan, and the operations that have carried it out before: what they own has the right size already.
    struct prepared {
        std::shared_ptr<const program> plan;
        std::uint8_t algorithm = 0;
        operation_list free;
    };

    /// What a plan is chosen by.
    struct choice {
        collective kind{};
        bool ordered = false;
        bool allocated = false;
        rank root = 0;
        std::size_t vector_bytes = 0;
        friend bool operator==(const choice&, const choice&) = default;
    };
    struct choice_made {
        choice asked;
        prepared* made = nullptr;
    };

    /// Holds the guard while a call is made an operation, and then tells what the ports have found.
    class issuing {
    public:
        explicit issuing(engine& of) : of_(of), lock_(of.guard_) {}
        issuing(const issuing&) = delete;
        issuing& operator=(const issuing&) = delete;
        ~issuing();

        /// `place`: reserved; 0: the next.
        void enter(operation& made, std::uint64_t place = 0) noexcept;

    private:
        engine& of_;
        std::optional<detail::progress_ticket> here_;  // ends when the guard is free
        std::unique_lock<std::mutex> lock_;
    };

    chooser& chooser_for(bool allocated) noexcept;
    prepared& prepare(const request& what);
    operation* begun_like_before(const request& what) noexcept;
    operation& made_of(const request& what);
    operation& first_of(operation_list& free);
    void make_ready(operation& made, const request& what, const std::shared_ptr<const program>& plan);
    static operation_list& place_of(operation& which) noexcept;
    void take_out(operation& made);
    void put(operation& which) noexcept;
    void collect(operation* instead = nullptr) noexcept;
    void close_pool() noexcept;
    /// Of the list of those that have come back: nobody may add to it any more. No operation lies here.
    operation* closed_pool() noexcept { return reinterpret_cast<operation*>(&returned_); }
    operation& start_again(detail::repeated_call& call);
    void adopt(detail::repeated_call& call, operation& made);
    void add_to(detail::repeated_call& call);
    void refuse(operation& made);
    void too_many(const descriptor& next);
    void too_early(const operation& running);
    port& port_to(rank peer, lane_kind kind) {
        const auto& found = ports_[static_cast<std::size_t>(peer) * lane_kinds + static_cast<std::size_t>(kind)];
        return found ? *found : first_port_to(peer, kind);
    }
    port& first_port_to(rank peer, lane_kind kind);
    void assign_lanes(operation& made, const request& what) const noexcept;
    /// Whether lanes of this kind are on several loops, and where one is.
    bool spread(lane_kind kind) const noexcept { return kind == lane_kind::bulk && settings_.lanes > 1 && !further_.empty(); }
    event_loop& loop_of(lane_id which) noexcept;
    std::unique_ptr<link> bring(rank peer, lane_id which, std::unique_ptr<link> over) noexcept;
    void admit(rank peer, lane_id which, std::unique_ptr<link> over);
    void part() noexcept;
    std::size_t segment() const noexcept;
    std::size_t most_under_way() const noexcept;
    std::size_t past_caches_from() const noexcept;
    operation& accept(const request& what, duration default_deadline);
    void post_fresh() noexcept;
    void take_fresh() noexcept;
    void start_fresh() noexcept;
    bool called(std::uint64_t sequence) const noexcept;
    std::uint64_t take_place(std::uint64_t reserved) noexcept;
    bool held(std::uint64_t sequence) const noexcept;
    void watch_held() noexcept;
    void remember(const operation& made) noexcept;
    const called_before& recent(std::uint64_t sequence) const noexcept { return recent_[sequence % recent_.size()]; }
    bool under_way(std::uint64_t collectives, std::uint64_t messages) const noexcept;
    void cancel_sync(std::uint64_t number) noexcept;
    void post_syncs() noexcept;
    report about_sync() const;
    void look_at_syncs() noexcept;
    void settle_syncs() noexcept;
    bool has_begun(lane_kind lanes, std::uint64_t sequence) const noexcept;
    template <class Channel>
    port* join(Channel& channel, lane_kind kind, port* left) noexcept;
    void let_in(operation& next) noexcept;
    void begin(operation& which) noexcept;
    void resume_ahead() noexcept;
    void progressed(operation& which) noexcept;
    void end(operation& which) noexcept;
    void end_all() noexcept;
    void fail_locked(report why, bool tell) noexcept;
    bool remembers(std::uint64_t sequence) const noexcept;
    std::string_view label_of(std::uint64_t sequence) const noexcept;
    void disagreed(rank peer, std::uint64_t sequence, const descriptor& mine, const descriptor& theirs,
                   std::string_view label = {}) noexcept;
    void fail_as_called(rank peer, std::uint64_t sequence, const descriptor& mine, const descriptor& theirs,
                        std::string_view label) noexcept;
    void ask_for_label(rank peer, std::uint64_t sequence, const descriptor& mine, const descriptor& theirs) noexcept;
    void unanswered() noexcept;
    void watch(operation& which) noexcept;
    report ending() const;
    report report_of(const operation& which) const;
    operation* first_live(lane_kind lanes) const noexcept;
    std::string about_stall(operation& which, duration waited) const;
    std::string behind_reserved(const operation& which) const;
    std::string waited_for(operation& which, std::vector<rank>& peers) const;
    void finish_ended() noexcept;
    void post_news() noexcept;
    void hear_news() noexcept;
    bool has_news() const noexcept {
        return !shut_ && (failure_ || !wanted_.empty() || !lost_.empty() || (differing_ && !differing_->told));
    }
    void tell_observer() noexcept;

    const birthplace made_;
    event_loop& loop_;
    const std::vector<event_loop*> further_;
    const engine_identity who_;
    engine_settings settings_;
    chooser choose_;
    chooser choose_allocated_;  // where the memory of all ranks is that of communicator::allocate
    engine_observer* observer_;

    std::mutex guard_;
    cork cork_;  // of all its lanes
    std::uint64_t next_sequence_ = 1;
    /// Places from `next` on, before `end`, that are still to be called.
    struct reservation {
        std::uint64_t next;
        std::uint64_t end;
    };
    std::vector<reservation> reserved_;  // in their order
    /// Waits for the first so many collectives and messages that were called.
    struct sync_call {
        std::uint64_t number;
        std::uint64_t collectives;
        std::uint64_t messages;
        detail::future_source<> told;
    };
    std::vector<sync_call> syncs_;
    std::uint64_t syncs_called_ = 0;
    std::uint64_t issued_ = 0;  // collectives called
    bool syncs_posted_ = false;  // on_syncs_ is posted
    bool said_goodbye_ = false;
    std::size_t pending_ = 0;
    operation_list fresh_, live_, ended_, free_;      // fresh_, by sequence: the loop has not let them in; free_: of those that were refused
    std::atomic<operation*> returned_{nullptr};       // without the guard; linked by `next`, the last first
    std::size_t out_ = 0;                             // operations that callers, or the engine for them, hold
    std::shared_ptr<engine> self_;                    // from the first one on, until it has shut down and all are back
    std::array<called_before, 64> recent_;  // by sequence
    /// A call for which a peer has another name. The peer is asked for it, before the engine fails.
    struct differing_call {
        rank peer;
        std::uint64_t sequence;
        descriptor mine;
        descriptor theirs;
        bool told = false;  // the observer has heard of it
    };
    std::optional<differing_call> differing_;
    std::map<plan_key, prepared> programs_;
    choice_made last_choice_;                   // many calls are like the one before
    std::vector<std::unique_ptr<port>> ports_;  // by peer and kind; null until used
    std::optional<report> failure_;
    bool ahead_ = false;                    // a lane keeps a frame of an operation that has not started here
    bool telling_ = false;                  // the observer has not heard of the failure yet
    bool fresh_posted_ = false;             // on_fresh_ is posted
    bool news_ = false;                     // on_news_ is posted
    bool shut_ = false;
    struct lost_link {
        rank peer;
        lane_id which;
        std::error_code why;
    };
    std::vector<lost_link> lost_;
    struct wish {
        rank peer;
        lane_kind kind;
    };
    std::vector<wish> wanted_;
    std::vector<std::unique_ptr<operation>> owned_;
    admission admission_;  // between fresh_ and live_
    const std::size_t past_caches_from_;
    messenger messages_{*this};
    detail::callback<&engine::take_fresh> on_fresh_{*this};
    detail::callback<&engine::finish_ended> on_ended_{*this};
    detail::callback<&engine::hear_news> on_news_{*this};
    detail::callback<&engine::look_at_syncs> on_syncs_{*this};
    detail::alarm<&engine::unanswered> answer_due_{*this};
};

}  // namespace tutti
