// A symbolic run of the plans of all ranks, by whole rounds or in slices. Blocks hold formulas instead of numbers. Time is the order of events.
#pragma once

#include "proof/expression.hpp"
#include "proof/matching.hpp"

#include <random>

namespace tutti {

/// How transfers are cut, and in which order the slices travel.
struct slicing {
    int slices = 1;
    int window = 0;   // slices of a round that may be sent ahead of those that have ended; 0: all
    int segment = 0;  // slices that go through all rounds before the next segment does; 0: all
    int lanes = 1;    // from each rank to each other rank
    bool lent = false;  // with one lane: all memory is lent, so parts that are reduced into the same blocks in a round end together
};

/// Runs the plans by the engine's rules. `verify` makes one for each check; only one thread uses it.
///
///   - A transfer (round, slice) may begin when that slice of all earlier rounds has ended at this rank.
///   - A send ends only when its recv has begun.
///   - On each channel transfers travel in the order (segment, round, slice, step).
///   - With several lanes a channel gives its transfers, in that order, to any idle lane. They land as their lanes bring them, but end in that order.
///
/// Ranks are deterministic and no step receives from any source, so one order of events proves all orders. A seed tries other orders all the same.
class execution {
public:
    /// The plans must match and be well-formed. One slice is the run by whole rounds.
    execution(std::span<const schedule> plans, const matching& pairs, const contract& promise, expressions& formulas, const slicing& cut = {});

    /// Runs until no transfer can go on: in random order with `order`, else in a fixed one, which is only for one lane.
    void run(std::mt19937* order = nullptr);

    /// Returns a rank that still waits, and for what; empty when every rank came to its end.
    std::string stuck() const;
    /// Returns the first step that read a block before anything was written to it; empty when there is none.
    const std::string& unwritten() const noexcept { return unwritten_; }
    expressions::id at(rank who, int slice, const blocks& where) const noexcept;

private:
    struct progress {
        int round = 0;
        int waiting = 0;                       // transfers of this round that have not ended
        std::vector<expressions::id> memory;   // by position
        std::vector<expressions::id> arrived;  // for the recv_reduces of this round
        std::vector<std::size_t> bounces;      // of each step of this round: where its arrivals begin
    };
    struct item {
        endpoint source;
        endpoint target;
        int slice;
    };

    progress& of(rank who, int slice) noexcept { return states_[static_cast<std::size_t>(who * slices_ + slice)]; }
    const progress& of(rank who, int slice) const noexcept { return states_[static_cast<std::size_t>(who * slices_ + slice)]; }
    /// The transfers of a channel that several lanes hold or have landed.
    struct road {
        std::vector<std::size_t> held;  // by lane: an index into the channel's queue, or nothing_held
        std::vector<bool> landed;       // by index
        std::size_t given = 0;          // transfers before this index have been given to lanes
        std::size_t ended = 0;          // transfers before this index have ended
    };

    std::vector<item> in_order(const channel& pair) const;
    bool pass(std::size_t where);
    bool share(std::size_t where, std::mt19937& order);
    bool give(std::size_t where, std::mt19937& order);
    bool land(std::size_t where, std::size_t& held);
    void begin_rounds(rank who, int slice);
    void end_round(rank who, int slice);
    bool may_leave(const item& next) const noexcept;
    bool may_land(const item& next) const noexcept;
    template <class Visit>
    void each_beside(const item& next, Visit visit) const;
    bool all_there(const item& next) const;
    void carry(const item& next);
    void end(const item& next);
    expressions::id read(rank who, int round, const step& line, const progress& state, const blocks& where, int index);

    std::span<const schedule> plans_;
    const matching& pairs_;
    expressions& formulas_;
    int slices_;
    int window_;
    int lanes_;
    int segment_;
    bool lent_;
    std::vector<progress> states_;
    std::vector<std::vector<item>> queues_;  // by channel
    std::vector<std::size_t> heads_;
    std::vector<road> roads_;  // by channel, where there are several lanes
    std::vector<std::size_t> candidates_;  // channels whose head may have become ready
    std::string unwritten_;
};

}  // namespace tutti
