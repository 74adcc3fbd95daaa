// A plan made ready for the engine: one rank's schedule, sorted by peer into the order in which its transfers travel.
#pragma once

#include "algorithm/catalogue.hpp"
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

    /// `largest` is the number of blocks of the longest transfer on any rank, which all ranks must know to cut slices alike.
    program(schedule plan, int largest);

    const schedule& plan() const noexcept { return plan_; }
    const std::vector<channel>& senders() const noexcept { return senders_; }
    const std::vector<channel>& receivers() const noexcept { return receivers_; }
    const std::vector<int>& step_order() const noexcept { return order_; }
    /// Index of the first step of a round in plan().steps().
    int first_step(int round) const noexcept { return first_step_[static_cast<std::size_t>(round)]; }
    int largest_transfer() const noexcept { return largest_; }
    bool writes_output() const noexcept { return writes_output_; }
    /// Whether what arrives for a recv_reduce may be combined at once instead of at the end of its round, because no other step of the
    /// round touches those blocks.
    bool reduces_at_once(int step) const noexcept { return at_once_[static_cast<std::size_t>(step)]; }

private:
    void sort(action first, action second, std::vector<channel>& into);

    schedule plan_;
    std::vector<channel> senders_;
    std::vector<channel> receivers_;
    std::vector<int> order_;
    std::vector<int> first_step_;
    std::vector<bool> at_once_;  // by step
    int largest_ = 1;
    bool writes_output_ = false;
};

/// Blocks in the longest transfer of a plan.
int largest_transfer(const schedule& plan) noexcept;

/// The program of `algorithm` at `where`.
std::shared_ptr<const program> compile(const algorithm& algorithm, place where);

}  // namespace tutti
