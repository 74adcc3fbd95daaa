// The control lanes of a group: a binary tree with rank 0 as its root, in which the parent of rank r is (r - 1) / 2. They carry few and
// small frames, are always read, and decide which rank is dead: its neighbours see the end of their links and pass that on. A rank has at
// most three of them. Only rank 0 may have more: it adopts the children of ranks that have left without waiting.
#pragma once

#include <tutti/event_loop.hpp>

#include "transport/lane.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti {

/// Called on the loop with the control guard held: do not call `control` from here. The group implements it.
class control_observer {
public:
    /// A rank has failed. The report has been passed on to the other neighbours already.
    virtual void heard_failure(report why) noexcept = 0;
    virtual void heard_goodbye(rank who) noexcept = 0;
    /// At the root: `who` has come to that barrier and waits for `within`. Barrier 0 is that of forming, monitored barriers follow. May
    /// repeat an arrival, because a rank with a new parent reports again.
    virtual void heard_entered(rank who, std::uint64_t number, duration within) noexcept = 0;
    /// At the root: `who` has answered the roll for that barrier, so it lives and its loop runs.
    virtual void heard_answer(rank who, std::uint64_t number) noexcept = 0;
    /// From the root: all ranks have come to that barrier, and to all before it.
    virtual void heard_release(std::uint64_t number) noexcept = 0;
    /// At the root: `who` has left without waiting. Its children are cut off: dial them and attach them.
    virtual void heard_gone(rank who) noexcept = 0;
    /// The parent has left without waiting: rank 0 will dial.
    virtual void orphaned() noexcept = 0;
    /// Another rank has called that collective under that label: a neighbour that waits in it, or a rank that has received another label.
    virtual void heard_called(rank who, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept = 0;
    /// A neighbour waits in a collective on devices; number and signature are those of the device engine.
    virtual void heard_waiting_on_device(rank who, std::uint64_t number, const call_signature& what) noexcept = 0;

protected:
    ~control_observer() = default;
};

/// Owns the control lanes of one group, and knows which ranks have left, which barriers are over, and the first failure. The group makes
/// it, and calls it on the loop only. The guard is for the lanes, which call back with it held; engine::guard_ may be taken after it, never
/// before. It opens no links, and it judges only the death of a neighbour.
///
/// Upwards, towards rank 0: entered (an arrival at a barrier), hang_up, here (an answer to the roll). Downwards: release, roll. To all
/// neighbours but the one that reported it: abort, goodbye. waiting goes to the neighbours, or along the tree to one rank.
class control final {
public:
    static constexpr std::size_t most_barriers = 1024;  // of one rank, under way: bounds what an ancestor keeps for it

    control(event_loop& loop, rank me, int size, std::uint32_t epoch, control_observer& observer);
    ~control();

    static rank parent_of(rank who) noexcept { return (who - 1) / 2; }
    /// Returns the neighbour of rank `from` on the way to rank `to`: `to` itself if the two are neighbours.
    static rank next_towards(rank to, rank from) noexcept;
    static bool is_parent(rank one, rank of) noexcept { return of != 0 && one == parent_of(of); }
    /// Takes the link to the parent or to a child; at the root also to an orphan, and at an orphan to the root, its parent from then on.
    /// Each end tells the other what it knows.
    void attach(rank peer, std::unique_ptr<link> over);
    /// Sends the failure to all neighbours. Only the first failure of a group is sent.
    void spread(const report& why) noexcept;
    /// Not at the root: reports that this rank has come to that barrier, in the order of their numbers.
    void say_entered(std::uint64_t number, duration within) noexcept;
    /// At the root: all ranks have come to that barrier.
    void say_release(std::uint64_t number) noexcept;
    /// At the root: asks all ranks to answer, to find those that are stopped or stuck.
    void call_roll(std::uint64_t number) noexcept;
    /// Reports to the neighbours that this rank waits in a collective; they compare it with their own.
    void say_waiting(std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept;
    /// Sends rank `to` the label under which this rank has called that collective. The ranks between the two pass it on.
    void say_called(rank to, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept;
    void say_waiting_on_device(std::uint64_t number, const call_signature& what) noexcept;
    /// Notes that `who` has left without waiting, though no goodbye came: at the root an orphan that cannot be reached, at an orphan the
    /// root.
    void note_gone(rank who) noexcept;
    /// Returns whether the link to the parent has ended.
    bool orphan() const noexcept;
    /// Says goodbye: this rank has called `calls` collectives, calls no more, and waits for the goodbyes of all ranks.
    void say_goodbye(std::uint64_t calls) noexcept;
    /// Ends the links. If ranks have not said goodbye yet, this one says hang_up first, so that the end does not look like a crash.
    void close() noexcept;
    /// After close(), on the loop or when no thread runs it: destroys the links, which may not outlive the loop or its host.
    void let_go() noexcept;
    /// Returns whether every rank, this one included, has said goodbye.
    bool all_left() const noexcept;
    /// Returns whether the links have taken all frames, or have ended.
    bool flushed() noexcept;
    bool gone(rank who) const noexcept { return gone_[static_cast<std::size_t>(who)]; }
    const std::vector<bool>& left() const noexcept { return left_; }
    /// Returns the number of collectives in that rank's goodbye; nothing before it has come, or if the rank hung up without it.
    std::optional<std::uint64_t> calls_of(rank who) const noexcept {
        const std::uint64_t counted = counted_[static_cast<std::size_t>(who)];
        return counted > 0 ? std::optional(counted - 1) : std::nullopt;
    }

private:
    class neighbour;  // the lane to one of them
    using bytes = std::shared_ptr<const std::vector<std::byte>>;  // a payload, shared by the frames to all peers
    /// An arrival on its way to the root.
    struct entry {
        rank who;
        std::uint64_t number;
        duration within;
    };

    template <class Send>
    void flood(rank heard_from, Send send);
    void inform(rank peer, neighbour& at);
    void spread_except(const report& why, rank heard_from) noexcept;
    static void send_entry(neighbour& at, const entry& what);
    void enter(const entry& next);
    void release(std::uint64_t number, rank heard_from);
    void heard(rank from, const frame& head, const std::vector<std::byte>& payload) noexcept;
    bool is_ahead(const frame& head) const noexcept;
    void heard_entered(rank from, const frame& head, duration within);
    void heard_called(const frame& head, const std::vector<std::byte>& payload);
    void pass_on(rank to, rank about, bytes payload, std::uint64_t sequence, const call_signature& what);
    void answer_roll(std::uint64_t number);
    void heard_here(rank from, const frame& head);
    void pass_goodbye(rank from, rank who, frame_kind kind, std::uint64_t counted = 0);
    void lost(rank peer) noexcept;

    event_loop& loop_;
    const rank me_;
    const std::uint32_t epoch_;
    control_observer& observer_;
    std::mutex guard_;
    std::map<rank, std::unique_ptr<neighbour>> neighbours_;
    rank parent_;             // rank 0 once the first parent has left without waiting
    std::vector<bool> left_;  // by rank: has said goodbye, or hung up
    std::vector<bool> gone_;  // by rank: has hung up
    std::vector<std::uint64_t> counted_;                          // by rank: its calls plus 1, as goodbyes carry it; 0 unknown
    std::map<std::pair<std::uint64_t, rank>, duration> entered_;  // arrivals, here and below, by barrier and rank, until the release
    std::uint64_t released_ = 0;  // barriers that are over
    std::uint64_t roll_ = 0;      // the barrier of the last roll
    bytes failure_;               // the first failure, as it is sent
    bool closed_ = false;
};

}  // namespace tutti
