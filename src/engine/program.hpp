// A plan made ready for the engine: one rank's schedule, sorted by peer into the order in which its transfers travel.
#pragma once

#include "algorithm/catalogue.hpp"
#include "schedule/contribution.hpp"
#include "schedule/schedule.hpp"

#include <memory>
#include <vector>

namespace tutti {

class program {
public:
    /// The steps of one round with one peer; they are step_order()[first, first + count).
    struct group {
        int round = 0;
        int first = 0;
        int count = 0;
    };
    /// All that goes to, or comes from, one peer.
    struct channel {
        rank peer = -1;
        std::vector<group> groups;
    };

    /// A transfer that brings back what belongs into memory that was sent, among those that come from its peer, or go there, for one slice: so
    /// many are there in `all`, in groups `before` its own, `beside` it in its own, and `inside` that before it.
    struct answer {
        int step = -1;
        std::size_t all = 0;
        std::size_t before = 0;
        std::size_t beside = 0;
        std::size_t inside = 0;

        /// Of its frame for a slice.
        std::size_t frame_index(std::size_t slice, std::size_t slices, std::size_t segment) const noexcept;
    };

    /// `largest` is the number of blocks of the longest transfer on any rank, which all ranks must know to cut slices alike.
    program(schedule plan, int largest);

    const schedule& plan() const noexcept { return plan_; }
    const std::vector<channel>& senders() const noexcept { return senders_; }
    const std::vector<channel>& receivers() const noexcept { return receivers_; }
    const std::vector<int>& step_order() const noexcept { return order_; }
    /// Index of the first step of a round in plan().steps().
    int first_step(int round) const noexcept { return first_step_[static_cast<std::size_t>(round)]; }
    /// Transfers of a round.
    int transfers(int round) const noexcept { return transfers_[static_cast<std::size_t>(round)]; }
    int largest_transfer() const noexcept { return largest_; }
    bool writes_output() const noexcept { return writes_output_; }
    const contribution& contributed() const noexcept { return contributed_; }
    /// Whether what arrives for a recv_reduce may be combined at once instead of at the end of its round, because no other step of the
    /// round touches those blocks.
    bool reduces_at_once(int step) const noexcept { return at_once_[static_cast<std::size_t>(step)]; }
    /// Whether what arrives for a recv_reduce is one of several things for the same blocks, one from each of several peers, which no other step
    /// of the round touches: all of them may be combined at once when all are there.
    bool reduces_together(int step) const noexcept { return together_[static_cast<std::size_t>(step)]; }
    /// Whether any recv_reduce of the round does.
    bool sums_together(int round) const noexcept { return sums_together_[static_cast<std::size_t>(round)]; }
    /// Whether a recv_reduce is all there is to apply at the end of its round.
    bool applies_alone(int step) const noexcept { return applied_alone_[static_cast<std::size_t>(step)]; }
    /// The receive from the same peer into the blocks of a send, when no other step touches them from that send on; null when there is none.
    const answer* answer_to(int send) const noexcept {
        const answer& found = answers_[static_cast<std::size_t>(send)];
        return found.step < 0 ? nullptr : &found;
    }
    /// The send that takes back to its peer what a recv_reduce makes, when that is combined at once, alone or together with others, and nothing
    /// more comes to it; else null.
    const answer* sum_of(int recv) const noexcept {
        const answer& found = sums_[static_cast<std::size_t>(recv)];
        return found.step < 0 ? nullptr : &found;
    }
    /// Whether nobody reads what a step writes to the output, but those to whom `sum_of` takes it.
    bool rests(int step) const noexcept { return rests_[static_cast<std::size_t>(step)]; }
    /// Whether a receive is such an answer.
    bool answers(int recv) const noexcept { return is_answer_[static_cast<std::size_t>(recv)]; }

private:
    answer among(const std::vector<channel>& channels, rank peer, int step) const noexcept;
    void find_answers();
    void find_rest();
    void sort(action first, action second, std::vector<channel>& into);

    schedule plan_;
    contribution contributed_;
    std::vector<channel> senders_;
    std::vector<channel> receivers_;
    std::vector<int> order_;
    std::vector<int> first_step_;
    std::vector<int> transfers_;       // by round
    std::vector<bool> applied_alone_;  // by step
    std::vector<bool> at_once_;        // by step
    std::vector<bool> together_;       // by step
    std::vector<bool> sums_together_;  // by round
    std::vector<answer> answers_;      // by step
    std::vector<answer> sums_;         // by step
    std::vector<bool> is_answer_;      // by step
    std::vector<bool> rests_;          // by step
    int largest_ = 1;
    bool writes_output_ = false;
};

/// Blocks in the longest transfer of a plan.
int largest_transfer(const schedule& plan) noexcept;

/// The program of `algorithm` at `where`. How long transfers are does not depend on the root, and takes a plan of each rank to find; a program with
/// another root knows it already.
std::shared_ptr<const program> compile(const algorithm& algorithm, participant where, const program* other_root = nullptr);

}  // namespace tutti
