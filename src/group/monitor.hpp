// Barriers that know who is missing. Every rank tells rank 0 that it has come; rank 0 releases all, or names those who have not come.
#pragma once

#include "group/control.hpp"

#include <tutti/detail/future_source.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::detail {

/// "rank 3", "ranks 3, 5".
std::string name_ranks(const std::vector<rank>& some);

/// Told on the loop.
class monitor_observer {
public:
    /// The communicator cannot go on.
    virtual void monitor_failed(report why) noexcept = 0;

protected:
    ~monitor_observer() = default;
};

/// On the loop only. Barriers are numbered by the caller, on every rank from 1.
class monitor final {
public:
    /// One call under way. Its future may end, and then it is empty.
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
    /// Its caller no longer waits: the other ranks would do so in vain.
    void give_up(const call& which) noexcept;
    bool pending() const noexcept { return !calls_.empty(); }
    /// The first one that is pending, as messages name it.
    std::optional<std::string> unfinished() const;
    /// Ends one call with `why`, as it tells it.
    void end(call& which, report why) noexcept;
    /// Ends all calls, and all work.
    void end_all(const report& why) noexcept;

    // From the tree, also while a control lane is at work: they are looked at afterwards.
    void heard_entered(rank who, std::uint64_t number, duration within) { note({told::entered, who, number, within}); }
    void heard_answer(rank who, std::uint64_t number) { note({told::here, who, number, {}}); }
    void heard_release(std::uint64_t number) { note({told::released, 0, number, {}}); }
    /// Not while a control lane is at work.
    void departed(rank who) noexcept;

private:
    enum class told : std::uint8_t { entered, here, released };
    struct news {
        told what;
        rank who;
        std::uint64_t number;
        duration within;
    };
    /// At rank 0: who has come to one barrier.
    struct meeting {
        std::vector<bool> came;
        duration within{};
        time_point until = no_deadline;
        std::vector<bool> here;  // since the roll was called, when time was over: who answered
        bool called = false;
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
    std::uint64_t released_ = 0;  // at rank 0: the last one
    std::vector<news> news_;
    callback<&monitor::hear> on_news_{*this};
    alarm<&monitor::look_at_clock> clock_{*this};
};

}  // namespace tutti::detail
