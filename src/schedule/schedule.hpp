// A collective as data: who sends which block to whom, in which round. A schedule depends on rank and size only; it holds no
// address, no count and no type, so one plan serves every message size.
#pragma once

#include <tutti/types.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// Where a block lives. What the spaces hold depends on the collective: see algorithm/catalogue.hpp.
enum class space : std::uint8_t { input, output, scratch };

/// `count` neighbouring blocks of a space, from `first`.
struct blocks {
    space where = space::input;
    int first = 0;
    int count = 1;

    friend bool operator==(const blocks&, const blocks&) = default;
};
constexpr blocks input(int first, int count = 1) noexcept { return {space::input, first, count}; }
constexpr blocks output(int first, int count = 1) noexcept { return {space::output, first, count}; }
constexpr blocks scratch(int first, int count = 1) noexcept { return {space::scratch, first, count}; }

/// Whether blocks share memory. Input and output may be the same where they hold what is this rank's own: a plan reads that in the input before
/// anything is written to it in the output, if at all, and the verifier sees to it.
constexpr bool intersect(const blocks& one, const blocks& other) noexcept {
    return one.where == other.where && one.first < other.first + other.count && other.first < one.first + one.count;
}

enum class action : std::uint8_t { send, recv, recv_reduce, copy };

/// One line of a plan. `recv_reduce` combines what arrives with what stands in `here`; the lower rank's operand goes
/// first, where the operator does not give the same bits either way.
struct step {
    action what = action::copy;
    rank peer = -1;  // none for copy
    blocks here;     // read by send, written by the others
    blocks from;     // copy only

    friend bool operator==(const step&, const step&) = default;
};
constexpr bool is_transfer(const step& line) noexcept { return line.what != action::copy; }
constexpr step send(rank peer, blocks what) noexcept { return {action::send, peer, what, {}}; }
constexpr step recv(rank peer, blocks where) noexcept { return {action::recv, peer, where, {}}; }
constexpr step recv_reduce(rank peer, blocks where) noexcept { return {action::recv_reduce, peer, where, {}}; }
constexpr step copy(blocks target, blocks source) noexcept { return {action::copy, -1, target, source}; }

/// How many blocks each space is cut into.
struct shape {
    int input = 0;
    int output = 0;
    int scratch = 0;

    friend bool operator==(const shape&, const shape&) = default;
};

/// All transfers of a round start together; when all have ended, its reductions and copies are applied in the order of its
/// steps; then the next round starts. Between two ranks, transfers match in the order (round, step): the k-th send to a peer is its
/// k-th recv from here. Each rank counts its own rounds, so the two ends of a transfer may give its round different numbers; but
/// transfers with one peer that share a round at one end share one at the other too, so (round, slice, step) is one order for both.
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
    /// For rounds whose steps are counted at run time: add each, then end the round.
    void add(step next) { steps_.push_back(next); }
    void end_round();

    int rounds() const noexcept { return static_cast<int>(ends_.size()); }
    std::span<const step> round(int index) const noexcept;
    std::span<const step> steps() const noexcept { return steps_; }
    const shape& spaces() const noexcept { return spaces_; }

    friend bool operator==(const schedule&, const schedule&) = default;

private:
    shape spaces_;
    std::vector<step> steps_;
    std::vector<int> ends_;
};

}  // namespace tutti
