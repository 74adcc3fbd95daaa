// Monitored barriers, which name the missing ranks. Every rank reports its arrival to rank 0 over the control tree. Rank 0 releases all
// ranks, or, at the deadline, calls the roll and names the ranks that have not come and those that do not even answer.
#pragma once

#include "group/control.hpp"

#include <tutti/detail/future_source.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::detail {

/// Called on the loop. The group implements it.
class monitor_observer {
public:
    /// The communicator fails on all ranks.
    virtual void monitor_failed(report why) noexcept = 0;

protected:
    ~monitor_observer() = default;
};

/// Owns the calls of monitored_barrier on this rank, and at rank 0 the arrivals of all ranks. group::enter calls it, and control reports to
/// it by way of the group. On the loop only. The group numbers the barriers, on every rank from 1. It never calls control while a control
/// lane is at work: reports of the tree are queued and looked at in a later turn.
class monitor final {
public:
    /// One call under way. `ends` is empty once its future has ended.
    struct call {
        std::optional<future_source<>> ends;
        monitor* at = nullptr;
        std::uint64_t number = 0;
        duration within{};
        time_point since{};
        std::string label;
    };

    monitor(event_loop& loop, rank me, int size, control& tree, monitor_observer& observer)
        : loop_(loop),
          me_(me),
          size_(size),
          tree_(tree),
          observer_(observer) {}

    void arrive(std::shared_ptr<call> which);
    /// The caller has cancelled or dropped its future. The other ranks would wait in vain, so the communicator fails.
    void give_up(const call& which) noexcept;
    bool pending() const noexcept { return !calls_.empty(); }
    /// Returns the name of the first pending barrier.
    std::optional<std::string> unfinished() const;
    /// Ends one call with `why`, completed by the call's own number, time and label.
    void end(call& which, report why) noexcept;
    /// Ends all calls and all work.
    void end_all(const report& why) noexcept;

    // Reports of the tree, which may come with the control guard held.
    void heard_entered(rank who, std::uint64_t number, duration within) { note({told::entered, who, number, within}); }
    void heard_answer(rank who, std::uint64_t number) { note({told::here, who, number, {}}); }
    void heard_release(std::uint64_t number) { note({told::released, 0, number, {}}); }
    /// A rank has left. Not called with the control guard held.
    void departed(rank who) noexcept;

private:
    enum class told : std::uint8_t { entered, here, released };
    struct news {
        told what;
        rank who;
        std::uint64_t number;
        duration within;
    };
    /// At rank 0: the arrivals at one barrier.
    struct meeting {
        std::vector<bool> came;
        duration within{};
        time_point until = no_deadline;
        std::vector<bool> here;  // ranks that have answered the roll
        bool called = false;     // the deadline has passed and the roll was called
    };

    void note(news next);
    void hear() noexcept;
    void came(rank who, std::uint64_t number, duration within);
    void judge() noexcept;
    bool all_answered(const meeting& at) const;
    void name_missing(std::uint64_t number, const meeting& at) noexcept;
    void release(std::uint64_t number);
    void left_early(rank who, std::uint64_t number) noexcept;
    void look_at_clock() noexcept;
    void set_clock();
    void fail(error code, std::uint64_t number, std::vector<rank> who, std::string cause) noexcept;

    event_loop& loop_;
    const rank me_;
    const int size_;
    control& tree_;
    monitor_observer& observer_;
    std::map<std::uint64_t, std::shared_ptr<call>> calls_;  // by number
    std::map<std::uint64_t, meeting> meetings_;
    std::uint64_t released_ = 0;  // at rank 0: the last barrier that is over
    std::vector<news> news_;
    callback<&monitor::hear> on_news_{*this};
    alarm<&monitor::look_at_clock> clock_{*this};
};

}  // namespace tutti::detail
