// The inside of a communicator: its members, its control tree, its engine, and the links that it opens when they are needed.
#pragma once

#include "base/descriptors.hpp"
#include "base/process.hpp"
#include "engine/engine.hpp"
#include "group/control.hpp"
#include "group/monitor.hpp"
#include "handshake/link_acceptor.hpp"
#include "validation/calls_in_turn.hpp"
#include "validation/list_check.hpp"

#include <tutti/context_options.hpp>
#include <tutti/event.hpp>
#include <tutti/detail/future_source.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail {

class context_state;

/// The members of a group and its settings, the same on all its ranks but for `me`. Made by join_over, finish_split and sibling().
struct membership {
    std::string name = "world";
    std::uint64_t id = 0;
    std::uint64_t job = 0;
    std::uint64_t call = 0;  // the number of rank 0's call in the store, which no other join has had
    std::uint32_t epoch = 0;
    rank me = 0;
    std::vector<std::string> addresses;  // by rank
    host_map hosts;
    bool is_child = false;  // of another communicator: it may use streams of multiplexed links
    engine_settings settings;
    bool calibrate = false;              // measure settings.costs when the job has joined
};

/// Returns the membership of a child communicator that has the ranks of `parent`, with another name. `which` tells the children apart, and is the same on
/// all ranks.
membership child_of(const membership& parent, std::string name, std::string_view which);

/// Owns the engine, the control tree and the monitor of one communicator, and connects them: it dials the lanes that the engine wants,
/// takes the links that the acceptor brings, and carries failures and goodbyes between tree and engine. The public communicator owns the
/// group, and group_deleter destroys it on the loop. Everything happens on the context's loop, so there is no lock here, except for members
/// marked "any thread". A group moves no data, and it never forms twice.
///
///                form()                close()            all goodbyes, or `within`
///      forming ----------> formed -------------> closing --------------------------> closed
///         |                   |                     |                                  ^
///         |  note_failure()   |                     |                                  |
///         +-------------------+---------------------+------> failed ---- close() ------+
///
/// leave() leads from every state to closed: a destructor calls it, or a context that stops. A closed group takes no failure any more.
class [[gnu::visibility("hidden")]] group final : private engine_observer, private control_observer, private monitor_observer, private link_destination {
public:
    group(std::shared_ptr<context_state> context, membership who);
    ~group();

    /// Opens the control link to the parent and returns when every rank has come. Throws error::rendezvous_timeout naming the missing
    /// ranks.
    task<> form(time_point deadline);
    /// Waits for what is pending, exchanges goodbyes, shuts down. Throws error::timed_out naming the ranks that have not said goodbye.
    task<> close(duration within);
    /// Ends everything at once. If anything was pending, that is an abort on all ranks; otherwise this rank says goodbye and hangs up.
    void leave() noexcept;
    /// Leaves and stops all work: nothing of this group runs on the loop afterwards.
    void end() noexcept;
    /// Any thread: starts close() in the group's background; the future has its end.
    future<> start_close(duration within);
    /// Any thread: returns whether start_close() was called.
    bool closes() const noexcept { return closes_.load(std::memory_order_relaxed); }
    /// Any thread: the future fails when the group fails, or with error::closed when it is closed.
    future<> watch();
    /// Any thread: this rank comes to its next monitored barrier.
    future<> enter_barrier(duration deadline, const char* label);
    /// Fails this communicator on all ranks, unless it has failed already.
    void fail_everywhere(report why) noexcept;
    /// For a group with devices: `with` runs when a neighbour reports that it waits in a collective on them; say_waiting_on_device()
    /// reports that this rank does.
    using comparison = std::function<void(rank, std::uint64_t, const call_signature&)>;
    void compare_on_device(comparison with) { compare_on_device_ = std::move(with); }
    void say_waiting_on_device(std::uint64_t number, const call_signature& what) noexcept {
        if (!failure_ && !closed_) control_.say_waiting_on_device(number, what);
    }

    // Any thread.
    const birthplace& made() const noexcept { return made_; }
    /// Returns the failure of a call in a process that was forked after the group was made.
    failure foreign() const;
    const membership& who() const noexcept { return who_; }
    int size() const noexcept { return static_cast<int>(who_.addresses.size()); }
    class engine& engine() noexcept { return *engine_; }
    /// Sets other costs for this group and the groups split from it, the same on all ranks. Called by the join, before the user has the communicator.
    void reprice(const cost_model& costs) {
        who_.settings.costs = costs;
        engine_->reprice(costs);
    }
    context_state& context() noexcept { return *context_; }
    const std::shared_ptr<context_state>& shared_context() noexcept { return context_; }
    list_check& lists() noexcept { return lists_; }
    calls_in_turn& turns() noexcept { return turns_; }
    /// A number for the next child communicator, from 1, the same on all ranks because all split in the same order.
    std::uint64_t next_child() noexcept { return ++children_; }

private:
    using watcher = std::optional<future_source<>>;  // empty once it has ended

    /// How far the link of one lane to one peer has come: this rank dials it, the peer's hello was welcomed, or the lane is there.
    enum class passage : std::uint8_t { none, dialling, entering, open };

    std::uint64_t id() const noexcept override { return who_.id; }
    reply answer_hello(const hello& from) override;
    bool takes_stream(const hello& from) const noexcept override { return takes_stream(from.lane); }
    void take_link(const hello& from, std::unique_ptr<link> over) override;
    void exhausted(std::error_code why) noexcept override {
        fail_everywhere(without_descriptor(who_.me, "a link that another rank opens", why));
    }

    void wanted(rank peer, lane_kind kind) noexcept override;
    void engine_failed(const report& why) noexcept override;
    void link_lost(rank peer, lane_id which, std::error_code why) noexcept override;
    void heard_failure(report why) noexcept override;
    void heard_goodbye(rank who) noexcept override;
    void heard_entered(rank who, std::uint64_t number, duration within) noexcept override;
    void heard_answer(rank who, std::uint64_t number) noexcept override {
        if (!failure_ && !closed_) monitor_.heard_answer(who, number);
    }
    void heard_release(std::uint64_t number) noexcept override;
    void heard_gone(rank who) noexcept override;
    void orphaned() noexcept override { work_.start(await_adoption()); }
    void waits(std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept override {
        if (!failure_ && !closed_) control_.say_waiting(sequence, what, label);
    }
    void stalls(const std::string& sentence) noexcept override { warn(sentence); }
    void differs(rank peer, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept override {
        if (!failure_ && !closed_) control_.say_called(peer, sequence, what, label);
    }
    void heard_called(rank who, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept override {
        engine_->compare(who, sequence, what, label);
    }
    void heard_waiting_on_device(rank who, std::uint64_t number, const call_signature& what) noexcept override {
        if (compare_on_device_) compare_on_device_(who, number, what);
    }
    void monitor_failed(report why) noexcept override { fail_everywhere(std::move(why)); }

    bool may_stream(lane_id which) const noexcept;
    bool takes_stream(lane_id which) const noexcept;
    task<result<std::unique_ptr<link>>> open(rank peer, lane_id which, time_point connected, time_point answered);
    task<> dial_all(rank peer, lane_kind kind);
    task<> dial(rank peer, lane_id which);
    task<> judge(rank peer, lane_id which, std::error_code why);
    task<> call_parent(time_point deadline);
    task<> adopt(rank orphan);
    task<> await_adoption();
    task<> until_formed(time_point deadline);
    void warn(const std::string& sentence) const;
    std::string awaited_to_form() const;
    std::string awaited_to_close() const;
    bool complete() const noexcept;
    failure late() const;
    task<> until_idle(time_point limit);
    task<> until_all_left(time_point limit);
    hello hello_to(rank peer, lane_id which) const noexcept;
    passage& passage_to(rank peer, lane_id which) noexcept;
    bool has_left(rank peer) const noexcept { return control_.left()[static_cast<std::size_t>(peer)]; }
    void attach_link(rank peer, lane_id which, std::unique_ptr<link> over);
    void announce_departures() noexcept;
    task<> see_off(rank who, lane_id which);
    void note_failure(report why) noexcept;
    void tell_watchers() noexcept;
    void shut() noexcept;
    report told() const;
    report about_closing(std::string cause) const;
    std::optional<report> uneven_calls() const;
    std::pair<std::string, std::string> missing(const std::vector<bool>& there) const;

    const birthplace made_;
    const std::shared_ptr<context_state> context_;
    membership who_;
    std::shared_ptr<class engine> engine_;
    control control_;
    list_check lists_;
    calls_in_turn turns_;  // in the checking mode
    monitor monitor_;
    std::vector<passage> passages_;       // by peer and lane
    std::vector<bool> present_;           // at rank 0: which ranks have come
    int adopting_ = 0;                    // at rank 0: orphans that are being dialled
    std::vector<rank> departing_;         // ranks whose goodbye the engine has not heard of
    std::optional<report> failure_;       // the first cause; never overwritten
    std::vector<std::shared_ptr<watcher>> watchers_;
    condition changed_;
    comparison compare_on_device_;
    bool formed_ = false;  // rank 0 has released this rank; stays false on rank 0
    bool closed_ = false;
    std::atomic<bool> closes_{false};
    std::atomic<std::uint64_t> children_{0};
    std::uint64_t entered_ = 0;  // monitored barriers
    callback<&group::announce_departures> on_departure_{*this};
    background work_;
};

}  // namespace tutti::detail
