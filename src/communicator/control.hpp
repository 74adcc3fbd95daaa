// The control lanes of a group: a star whose hub is rank 0. They carry few, small frames, are always read, and decide who is dead:
// a failure or a goodbye on one rank is known on all within two hops.
#pragma once

#include <tutti/event_loop.hpp>

#include "transport/lane.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tutti {

/// Called while a control lane is at work: do not call `control` from here.
class control_observer {
public:
    /// Some rank has failed; everybody has been or is being told.
    virtual void heard_failure(report why) noexcept = 0;
    virtual void heard_goodbye(rank who) noexcept = 0;
    /// From the hub: every rank has come.
    virtual void heard_formed() noexcept = 0;
    /// At the hub: `who` has come to that monitored barrier and waits so long.
    virtual void heard_entered(rank who, std::uint64_t number, duration within) noexcept = 0;
    /// From the hub: all have come to it.
    virtual void heard_release(std::uint64_t number) noexcept = 0;
    /// From a neighbour, which waits in that collective.
    virtual void heard_waiting(rank who, std::uint64_t sequence, const descriptor& what) noexcept = 0;
    /// The same of a collective on devices; number and descriptor are those of the device engine.
    virtual void heard_waiting_on_device(rank who, std::uint64_t number, const descriptor& what) noexcept = 0;

protected:
    ~control_observer() = default;
};

/// On the loop only.
class control final {
public:
    control(event_loop& loop, rank me, int size, std::uint32_t epoch, control_observer& observer);
    ~control();

    /// A leaf has one link, to rank 0; the hub one to every other rank. The order of ranks is free.
    void attach(rank peer, std::unique_ptr<link> over);
    bool attached(rank peer) const noexcept { return static_cast<bool>(ends_[static_cast<std::size_t>(peer)]); }
    /// Tells the others, once; only the first failure is told.
    void spread(const report& why) noexcept;
    /// For the hub, when every rank has come.
    void say_formed() noexcept;
    /// For a leaf, and for the hub: see monitor.hpp.
    void say_entered(std::uint64_t number, duration within) noexcept;
    void say_release(std::uint64_t number) noexcept;
    /// This rank waits in a collective; the neighbours compare.
    void say_waiting(std::uint64_t sequence, const descriptor& what) noexcept;
    void say_waiting_on_device(std::uint64_t number, const descriptor& what) noexcept;
    /// This rank will issue nothing more. From the hub it goes to all, from a leaf to the hub, which passes it on.
    void say_goodbye() noexcept;
    /// Ends the links. Whoever closes before all ranks have said goodbye says that too, so that it does not look like a crash.
    void close() noexcept;
    /// Whether every rank, this one included, has said goodbye.
    bool all_left() const noexcept;
    const std::vector<bool>& left() const noexcept { return left_; }

private:
    class end;  // of one link
    void spread_except(const report& why, rank heard_from) noexcept;
    void heard(rank from, const frame& head, std::vector<std::byte> payload) noexcept;
    void lost(rank peer) noexcept;

    event_loop& loop_;
    const rank me_;
    const std::uint32_t epoch_;
    control_observer& observer_;
    std::mutex guard_;
    std::vector<std::unique_ptr<end>> ends_;  // by rank; empty where there is no link
    std::vector<bool> left_;                  // said goodbye, or was reported to have
    std::vector<bool> hung_up_;               // neighbours that said they would not wait for the others
    bool spread_ = false;
    bool closed_ = false;
};

}  // namespace tutti
