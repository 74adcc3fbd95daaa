// The control lanes of a group: a binary tree whose root is rank 0, the parent of rank r being (r - 1) / 2. They carry few, small frames,
// are always read, and decide who is dead: what happens to a rank its neighbours see, and pass on. No rank has more than three of them,
// but rank 0 where others have left without waiting for all: it adopts their children.
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

/// Called while a control lane is at work: do not call `control` from here.
class control_observer {
public:
    /// Some rank has failed; everybody has been or is being told.
    virtual void heard_failure(report why) noexcept = 0;
    virtual void heard_goodbye(rank who) noexcept = 0;
    /// At the root: `who` has come to that barrier and waits so long. Barrier 0 is that of forming, monitored ones follow. Maybe not for
    /// the first time.
    virtual void heard_entered(rank who, std::uint64_t number, duration within) noexcept = 0;
    /// At the root: `who` has heard the roll being called for that barrier.
    virtual void heard_answer(rank who, std::uint64_t number) noexcept = 0;
    /// From the root: all have come to it, and to those before.
    virtual void heard_release(std::uint64_t number) noexcept = 0;
    /// At the root: `who` has left and does not wait for the others. Its children are orphans, which nobody else hears: attach them.
    virtual void heard_gone(rank who) noexcept = 0;
    /// The parent has: rank 0 will call.
    virtual void orphaned() noexcept = 0;
    /// That rank has called that collective under that label: a neighbour, which waits in it, or one that has been told another label.
    virtual void heard_called(rank who, std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept = 0;
    /// A neighbour waits in a collective on devices; number and descriptor are those of the device engine.
    virtual void heard_waiting_on_device(rank who, std::uint64_t number, const descriptor& what) noexcept = 0;

protected:
    ~control_observer() = default;
};

/// On the loop only.
class control final {
public:
    static constexpr std::size_t most_barriers = 1024;  // of one rank, under way

    control(event_loop& loop, rank me, int size, std::uint32_t epoch, control_observer& observer);
    ~control();

    static rank parent_of(rank who) noexcept { return (who - 1) / 2; }
    /// The neighbour of rank `from` by way of which it hears of rank `to`; `to` itself where it is its own.
    static rank next_towards(rank to, rank from) noexcept;
    static bool is_parent(rank one, rank of) noexcept { return of != 0 && one == parent_of(of); }
    /// The link to the parent or to a child, at any time; for the root to an orphan, too, and for an orphan to the root, which is its parent
    /// from now on. Each hears what the other one knows.
    void attach(rank peer, std::unique_ptr<link> over);
    /// Tells the others, once; only the first failure is told.
    void spread(const report& why) noexcept;
    /// Not for the root: it has come to that barrier, in the order of their numbers.
    void say_entered(std::uint64_t number, duration within) noexcept;
    /// For the root, when all have come to it.
    void say_release(std::uint64_t number) noexcept;
    /// For the root: whoever hears it answers.
    void call_roll(std::uint64_t number) noexcept;
    /// This rank waits in a collective; the neighbours compare.
    void say_waiting(std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept;
    /// This rank has called that collective, under that label; `to` compares. The ranks between the two pass it on.
    void say_called(rank to, std::uint64_t sequence, const descriptor& what, std::string_view label) noexcept;
    void say_waiting_on_device(std::uint64_t number, const descriptor& what) noexcept;
    /// For the root: an orphan that cannot be reached has left, too, and its goodbye was lost with its parent.
    void note_gone(rank who) noexcept;
    /// Whether the link to the parent has ended.
    bool orphan() const noexcept;
    /// This rank has issued so many collectives, will issue nothing more, and waits until all have said so.
    void say_goodbye(std::uint64_t calls) noexcept;
    /// Ends the links. Whoever closes before that says goodbye, and that it does not wait, so that it does not look like a crash.
    void close() noexcept;
    /// On the loop or when nobody runs it, after that: the links go, which may not outlive the loop, or its host.
    void let_go() noexcept;
    /// Whether every rank, this one included, has said goodbye.
    bool all_left() const noexcept;
    /// Whether all that was said has left, or has no way.
    bool flushed() noexcept;
    bool gone(rank who) const noexcept { return gone_[static_cast<std::size_t>(who)]; }
    const std::vector<bool>& left() const noexcept { return left_; }
    /// How many collectives that rank had issued when it said goodbye; none of one that has not, or left without that.
    std::optional<std::uint64_t> calls_of(rank who) const noexcept {
        const std::uint64_t counted = counted_[static_cast<std::size_t>(who)];
        return counted > 0 ? std::optional(counted - 1) : std::nullopt;
    }

private:
    class end;  // of one link
    using bytes = std::shared_ptr<const std::vector<std::byte>>;  // of a payload, the same for all peers
    /// On its way to the root, until that barrier is released.
    struct entry {
        rank who;
        std::uint64_t number;
        duration within;
    };

    template <class Send>
    void flood(rank heard_from, Send send);
    void inform(rank peer, end& at);
    void spread_except(const report& why, rank heard_from) noexcept;
    static void send_entry(end& at, const entry& what);
    void enter(const entry& next);
    void release(std::uint64_t number, rank heard_from);
    void heard(rank from, const frame& head, const std::vector<std::byte>& payload) noexcept;
    bool is_ahead(const frame& head) const noexcept;
    void heard_entered(rank from, const frame& head, duration within);
    void heard_called(const frame& head, const std::vector<std::byte>& payload);
    void pass_on(rank to, rank about, bytes payload, std::uint64_t sequence, const descriptor& what);
    void answer_roll(std::uint64_t number);
    void heard_here(rank from, const frame& head);
    void pass_goodbye(rank from, rank who, frame_kind kind, std::uint64_t counted = 0);
    void lost(rank peer) noexcept;

    event_loop& loop_;
    const rank me_;
    const std::uint32_t epoch_;
    control_observer& observer_;
    std::mutex guard_;
    std::map<rank, std::unique_ptr<end>> ends_;
    rank parent_;             // to begin with; rank 0 when that has left early
    std::vector<bool> left_;  // said goodbye, or was reported to have
    std::vector<bool> gone_;  // and did not wait
    std::vector<std::uint64_t> counted_;                          // by rank that said goodbye: its calls, and 1; as goodbyes carry it
    std::map<std::pair<std::uint64_t, rank>, duration> entered_;  // of which barrier, who
    std::uint64_t released_ = 0;  // so many barriers
    std::uint64_t roll_ = 0;      // called last, for that barrier
    bytes failure_;               // as it was or is told
    bool closed_ = false;
};

}  // namespace tutti
