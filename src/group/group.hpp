// What stands behind a communicator: its members, its control tree, its engine, and the links it opens when they are needed.
#pragma once

#include "base/process.hpp"
#include "validation/calls_in_turn.hpp"
#include "group/control.hpp"
#include "handshake/link_acceptor.hpp"
#include "validation/list_check.hpp"
#include "group/monitor.hpp"
#include "engine/engine.hpp"

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

/// Who belongs to a group, the same on all its ranks but for `me`.
struct membership {
    std::string name = "world";
    std::uint64_t id = 0;
    std::uint64_t job = 0;
    std::uint64_t call = 0;  // of rank 0, a number that no other join has had
    std::uint32_t epoch = 0;
    rank me = 0;
    std::vector<std::string> addresses;  // by rank
    host_map hosts;
    engine_settings settings;
    bool calibrate = false;              // measure settings.costs when the job has joined
};

/// On the loop, except where it says otherwise.
class [[gnu::visibility("hidden")]] group final : private engine_observer, private control_observer, private monitor_observer, private link_destination {
public:
    group(std::shared_ptr<context_state> context, membership who);
    ~group();

    /// Until every rank has come. Throws error::rendezvous_timeout naming those that are missing.
    task<> form(time_point deadline);
    /// Waits for what is pending, exchanges goodbyes, shuts down. Throws error::timed_out naming who has not said goodbye.
    task<> close(duration within);
    /// Ends everything at once, telling the others if anything was pending.
    void leave() noexcept;
    /// Leaves, and stops all work: nothing of this group runs on the loop afterwards.
    void end() noexcept;
    /// Starts `close` for whoever holds the future.
    future<> start_close(duration within);
    /// Any thread: whether somebody has called that.
    bool closes() const noexcept { return closes_.load(std::memory_order_relaxed); }
    /// Any thread: ends when the group has failed or was closed.
    future<> watch();
    /// Any thread: comes to the next monitored barrier.
    future<> enter(duration deadline, const char* label);
    /// Fails here and everywhere.
    void fail_everywhere(report why) noexcept;
    /// For a group that has devices: what to do when another rank waits in a collective on them, and how to say that this one does.
    using comparison = std::function<void(rank, std::uint64_t, const descriptor&)>;
    void compare_on_device(comparison with) { compare_on_device_ = std::move(with); }
    void say_waiting_on_device(std::uint64_t number, const descriptor& what) noexcept {
        if (!failure_ && !closed_) control_.say_waiting_on_device(number, what);
    }

    // Any thread.
    const birthplace& made() const noexcept { return made_; }
    /// For a call that is made in a process which was forked since.
    failure foreign() const;
    const membership& who() const noexcept { return who_; }
    int size() const noexcept { return static_cast<int>(who_.addresses.size()); }
    class engine& engine() noexcept { return *engine_; }
    /// Before anybody else knows this group: other costs, for it and its children. The same on all ranks.
    void reprice(const cost_model& costs) {
        who_.settings.costs = costs;
        engine_->reprice(costs);
    }
    context_state& context() noexcept { return *context_; }
    const std::shared_ptr<context_state>& shared_context() noexcept { return context_; }
    list_check& lists() noexcept { return lists_; }
    calls_in_turn& turns() noexcept { return turns_; }
    /// A number for the next child, from 1, the same on all ranks because all split in the same order.
    std::uint64_t next_child() noexcept { return ++children_; }

private:
    using watcher = std::optional<future_source<>>;  // empty once it has ended

    /// How far the link of one lane to one peer has come.
    enum class passage : std::uint8_t { none, dialling, entering, open };

    std::uint64_t id() const noexcept override { return who_.id; }
    reply admit(const hello& from) override;
    void enter(const hello& from, std::unique_ptr<link> over) override;
    void exhausted(std::error_code why) noexcept override { fail_everywhere(without_descriptor("a link that another rank opens", why)); }

    void wanted(rank peer, lane_kind kind) noexcept override;
    void failed(const report& why) noexcept override;
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
    void waits(std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept override {
        if (!failure_ && !closed_) control_.say_waiting(sequence, what, label);
    }
    void stalls(const std::string& sentence) noexcept override { warn(sentence); }
    void differs(rank peer, std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept override {
        if (!failure_ && !closed_) control_.say_called(peer, sequence, what, label);
    }
    void heard_called(rank who, std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept override {
        engine_->compare(who, sequence, what, label);
    }
    void heard_waiting_on_device(rank who, std::uint64_t number, const descriptor& what) noexcept override {
        if (compare_on_device_) compare_on_device_(who, number, what);
    }
    void monitor_failed(report why) noexcept override { fail_everywhere(std::move(why)); }

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
    void admit(rank peer, lane_id which, std::unique_ptr<link> over);
    void announce_departures() noexcept;
    task<> see_off(rank who, lane_id which);
    void note_failure(report why) noexcept;
    void tell_watchers() noexcept;
    void shut() noexcept;
    report told() const;
    report without_descriptor(std::string_view for_what, const std::error_code& why) const;
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
    std::vector<bool> present_;           // at rank 0: who has come
    int adopting_ = 0;                    // orphans that do not know yet what it knows
    std::vector<rank> departing_;         // whose goodbye the engine has not heard of
    std::optional<report> failure_;
    std::vector<std::shared_ptr<watcher>> watchers_;
    condition changed_;
    comparison compare_on_device_;
    bool formed_ = false;
    bool closed_ = false;
    std::atomic<bool> closes_{false};
    std::atomic<std::uint64_t> children_{0};
    std::uint64_t entered_ = 0;  // monitored barriers
    callback<&group::announce_departures> on_departure_{*this};
    background work_;
};

/// What abort() on rank `me` tells.
report aborted(rank me, std::string_view reason);

}  // namespace tutti::detail
