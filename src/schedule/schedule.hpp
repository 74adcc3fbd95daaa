// A collective as data: which rank sends which block to which, in which round. A schedule depends on the rank, the number of ranks, the root
// and the hosts only. It holds no address, no count and no type, so one plan serves every message size.
//
// A builder (algorithm/builders.hpp) is a pure function that makes the plan of one rank. This one broadcasts from the root to each rank:
//
//     schedule star(participant at) {
//         schedule plan({.output = 1});                    // the whole vector is one block
//         if (at.me != at.root) plan.round(recv(at.root, output(0)));
//         else for (rank peer = 0; peer < at.size; ++peer)
//             if (peer != at.root) plan.add(send(peer, output(0)));
//         plan.end_round();                                // adds nothing after plan.round()
//         return plan;
//     }
//
// algorithm/catalogue.hpp says what the blocks hold at the start and at the end; proof/verify.hpp checks the plans of all ranks together.
#pragma once

#include <tutti/types.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// The memory that a block belongs to. The contents depend on the collective: see algorithm/catalogue.hpp.
enum class space : std::uint8_t { input, output, scratch };

/// `count` consecutive blocks of a space, beginning with `first`.
struct blocks {
    space where = space::input;
    int first = 0;
    int count = 1;

    friend bool operator==(const blocks&, const blocks&) = default;
};
constexpr blocks input(int first, int count = 1) noexcept { return {space::input, first, count}; }
constexpr blocks output(int first, int count = 1) noexcept { return {space::output, first, count}; }
constexpr blocks scratch(int first, int count = 1) noexcept { return {space::scratch, first, count}; }

/// Returns whether the two have a block in common. Input and output count as different, although they may be the same memory in the block that
/// is this rank's own in both. The verifier proves that no plan reads that block in the input after it may have written it in the output.
constexpr bool intersect(const blocks& one, const blocks& other) noexcept {
    return one.where == other.where && one.first < other.first + other.count && other.first < one.first + one.count;
}

enum class action : std::uint8_t { send, recv, recv_reduce, copy };

/// One line of a plan. `recv_reduce` combines the blocks that arrive with the blocks `here`. The lower rank's operand is the first one, unless
/// the operator gives the same bits either way.
struct step {
    action what = action::copy;
    rank peer = -1;  // none for copy
    blocks here;     // read by send, written by the other actions
    blocks from;     // copy only

    friend bool operator==(const step&, const step&) = default;
};
constexpr bool is_transfer(const step& line) noexcept { return line.what != action::copy; }
constexpr step send(rank peer, blocks what) noexcept { return {action::send, peer, what, {}}; }
constexpr step recv(rank peer, blocks where) noexcept { return {action::recv, peer, where, {}}; }
constexpr step recv_reduce(rank peer, blocks where) noexcept { return {action::recv_reduce, peer, where, {}}; }
constexpr step copy(blocks target, blocks source) noexcept { return {action::copy, -1, target, source}; }

/// The number of blocks that each space is cut into.
struct shape {
    int input = 0;
    int output = 0;
    int scratch = 0;

    friend bool operator==(const shape&, const shape&) = default;
};

/// One rank's plan: rounds of steps, and the shape of its spaces. A builder makes it, the engine compiles it into a `program` once and keeps that;
/// proof/ and chain.hpp read the plans of all ranks. It is a value without locks and does not check itself; proof/verify.hpp does.
///
/// All transfers of a round start together. When all have ended, the round's reductions and copies are applied in the order of its steps. Then
/// the next round starts. Between two ranks, transfers match in the order (round, step): the k-th send to a peer is that peer's k-th recv from
/// here. Each rank counts its own rounds, so the two ends of a transfer may give its round different numbers. But transfers with one peer that
/// share a round at one end must share one at the other end too. So (round, slice, step) is one order for both ends.
class schedule {
public:
    schedule() = default;
    explicit schedule(shape spaces) : spaces_(spaces) {}

    /// Adds a round of these steps. A round without steps is not added.
    template <std::same_as<step>... Steps>
    void round(Steps... steps) {
        (steps_.push_back(steps), ...);
        end_round();
    }
    /// Adds a step to the round that `end_round` ends: for rounds whose number of steps is known at run time only.
    void add(step next) { steps_.push_back(next); }
    /// Ends the round of the steps added since the last one; without such steps it does nothing.
    void end_round();

    int rounds() const noexcept { return static_cast<int>(ends_.size()); }
    std::span<const step> round(int index) const noexcept;
    std::span<const step> steps() const noexcept { return steps_; }
    const shape& spaces() const noexcept { return spaces_; }

    friend bool operator==(const schedule&, const schedule&) = default;

private:
    shape spaces_;
    std::vector<step> steps_;
    std::vector<int> ends_;  // by round: the number of steps up to its end
};

}  // namespace tutti
