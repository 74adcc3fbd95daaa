// Barriers that know who is missing. Every rank tells rank 0 that it has come; rank 0 releases all, or names those who have not come.
#pragma once

#include "communicator/control.hpp"

#include <tutti/detail/future_source.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tutti::detail {

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
    /// Ends one call with `why`, as it tells it.
    void end(call& which, report why) noexcept;
    /// Ends all calls, and all work.
    void end_all(const report& why) noexcept;

    // From the tree, also while a control lane is at work: they are looked at afterwards.
    void heard_entered(rank who, std::uint64_t number, duration within) { note({who, number, within}); }
    void heard_release(std::uint64_t number) { note({released, number, {}}); }
    /// Not while a control lane is at work.
    void departed(rank who) noexcept;

private:
    static constexpr rank released = -1;
    struct news {
        rank who;
        std::uint64_t number;
        duration within;
    };
    /// At rank 0: who has come to one barrier.
    struct meeting {
        std::vector<bool> came;
        duration within{};
        time_point until = no_deadline;
    };

    void note(news next);
    void hear() noexcept;
    void came(rank who, std::uint64_t number, duration within);
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
    std::vector<news> news_;
    callback<&monitor::hear> on_news_{*this};
    alarm<&monitor::look_at_clock> clock_{*this};
};

}  // namespace tutti::detail
