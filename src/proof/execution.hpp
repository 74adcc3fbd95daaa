// A symbolic run of all ranks at once, whole rounds or slices. Blocks hold formulas instead of numbers; time is the order of events.
#pragma once

#include "proof/expression.hpp"
#include "proof/matching.hpp"

#include <random>

namespace tutti {

/// How transfers are cut, and in which order the slices travel.
struct slicing {
    int slices = 1;
    int window = 0;   // slices of a round that are sent ahead of what has ended; 0: all
    int segment = 0;  // slices that go through all rounds before the next segment does; 0: all
    int lanes = 1;    // from each rank to each other
    bool lent = false;  // of one lane: all memory is, so what several send to be reduced into the same blocks in a round ends when all is there
};

/// Follows the engine's rules: a transfer (round, slice) may begin when that slice of all rounds before has ended at this rank; a send
/// ends only when its recv has begun; on each channel transfers travel in the order (segment, round, slice, step). Since ranks are
/// deterministic and nothing receives from anyone, one order of events decides for all; a seed tries others. With several lanes a channel
/// gives its transfers to any lane that holds none, in that order; they end in that order, too, but land as their lanes bring them.
class execution {
public:
    /// The plans must match and be well-formed. One slice is the run by whole rounds.
    execution(std::span<const schedule> plans, const matching& pairs, const contract& promise, expressions& formulas, const slicing& cut = {});

    /// Runs until nothing moves: in a fixed order without `order`, which only one lane can have, in random order with it.
    void run(std::mt19937* order = nullptr);

    /// Empty when every rank came to its end, otherwise one of those who wait, and for what.
    std::string stuck() const;
    /// Empty, or the first step that read a block before anything was written to it.
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
    /// What several lanes hold of a channel, and what they have brought.
    struct road {
        std::vector<std::size_t> held;  // by lane: a place in the channel, or nothing
        std::vector<bool> landed;       // by place
        std::size_t given = 0;          // places before it have been given to lanes
        std::size_t ended = 0;          // places before it have ended
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
