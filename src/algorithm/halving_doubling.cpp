// Halving the vector, and doubling it again: few rounds and few bytes, for vectors of medium length. Neighbours are partners first. So every element
// is combined as recursive doubling combines it, and the largest parts travel the shortest distance. Where ranks fold into pairs, a pair shares the
// work of its number: the even rank takes part for the first half of the vector, the odd one for the second half. An algorithm that halves only once
// or twice, and then exchanges the rest as recursive doubling does, lies between the two in rounds and in bytes.
#include "algorithm/builders.hpp"
#include "algorithm/fold.hpp"

#include <bit>

namespace tutti {
namespace {

struct sharing {
    fold folded;
    int halves;  // of the vector; one where there are no pairs
    bool paired;
    int from, to;  // [from, to): the halves for which this rank takes part
    int number;
    rank twin;  // the other rank of the pair

    explicit sharing(participant at)
        : folded(at.size),
          halves(folded.extra > 0 ? 2 : 1),
          paired(folded.paired(at.me)),
          from(paired ? at.me % 2 : 0),
          to(paired ? from + 1 : halves),
          number(folded.number(at.me)),
          twin(at.me ^ 1) {}

    /// Returns the rank that takes part as number `other` for that half.
    rank real(int other, int half) const noexcept { return other < folded.extra ? 2 * other + half : other + folded.extra; }
};

/// Returns the lowest log2(core) bits of a number in reverse order.
int reversed(int number, int core) {
    int other = 0;
    for (int bit = 1; bit < core; bit *= 2) other = 2 * other + (number & bit ? 1 : 0);
    return other;
}

/// A vector with a block for each rank, cut in halves, and each half in a near-equal part for each number. Some parts may be empty.
struct parts {
    int size;
    const sharing& all;

    int first(int half, int index) const noexcept {
        const int before = half * (size / 2), count = all.halves == 1 ? size : half == 0 ? size / 2 : size - size / 2;
        return before + static_cast<int>(std::int64_t{count} * index / all.folded.core);
    }
    /// Returns the blocks of `count` parts from `index` on.
    blocks of(space where, int half, int index, int count) const noexcept {
        return {where, first(half, index), first(half, index + count) - first(half, index)};
    }
    /// Returns the rank that ends with a block. A number ends with the part whose index is its bits in reverse order, since it halves by its
    /// lowest bit first.
    rank holder(int block) const noexcept {
        const int half = all.halves == 2 && block >= size / 2 ? 1 : 0;
        int index = 0;
        while (first(half, index + 1) <= block) ++index;
        return all.real(reversed(index, all.folded.core), half);
    }
};

}  // namespace

/// Halves the vector `halvings` times, exchanges the parts that are left with the remaining partners, and doubles as often.
static schedule halve_exchange_double(const sharing& all, int halvings) {
    const int parts = 1 << halvings;
    schedule plan({.output = all.halves * parts});
    const auto part = [&](int half, int first, int count) { return output(half * parts + first, count); };
    const auto exchange = [&](int distance, const auto& add) {
        for (int half = all.from; half < all.to; ++half) add(all.real(all.number ^ distance, half), half);
        plan.end_round();
    };
    if (all.paired) plan.round(send(all.twin, part(1 - all.from, 0, parts)), recv_reduce(all.twin, part(all.from, 0, parts)));
    int mine = 0;
    for (int distance = 1, count = parts / 2; count > 0; distance *= 2, count /= 2) {
        if (all.number & distance) mine += count;
        exchange(distance, [&](rank partner, int half) {
            plan.add(send(partner, part(half, mine ^ count, count)));
            plan.add(recv_reduce(partner, part(half, mine, count)));
        });
    }
    for (int distance = parts; distance < all.folded.core; distance *= 2)
        exchange(distance, [&](rank partner, int half) {
            plan.add(send(partner, part(half, mine, 1)));
            plan.add(recv_reduce(partner, part(half, mine, 1)));
        });
    for (int distance = parts / 2, count = 1; distance > 0; distance /= 2, count *= 2) {
        exchange(distance, [&](rank partner, int half) {
            plan.add(send(partner, part(half, mine, count)));
            plan.add(recv(partner, part(half, mine ^ count, count)));
        });
        mine &= ~count;
    }
    if (all.paired) plan.round(send(all.twin, part(all.from, 0, parts)), recv(all.twin, part(1 - all.from, 0, parts)));
    return plan;
}

// Rabenseifner 2004, with pairs that share their work. 2 log2(C) rounds, 2 S (C-1)/C bytes sent and S (C-1)/C bytes reduced per rank. Where
// ranks fold: two rounds more, and each rank of a pair sends S + S (C-1)/C and reduces S/2 + S (C-1)/2C.
schedule halving_doubling_all_reduce(participant at) {
    const sharing all(at);
    return halve_exchange_double(all, std::countr_zero(static_cast<unsigned>(all.folded.core)));
}

// Hybrids of the algorithms for short and for long vectors, after van de Geijn 1994. With H halvings, q = 1/2^H, and E = log2(C) - H exchanges of
// the rest: log2(C) + H rounds, S (2 - 2 q + E q) bytes sent and S (1 - q + E q) reduced per rank. Where ranks fold: two rounds more, and each
// rank of a pair sends S plus half of these bytes, and reduces S/2 plus half of these.
schedule halving_once_all_reduce(participant at) { return halve_exchange_double(sharing(at), 1); }
schedule halving_twice_all_reduce(participant at) { return halve_exchange_double(sharing(at), 2); }

// The first half of halving_doubling_all_reduce, on blocks of any sizes. At the end each rank sends the blocks of its part to their owners.
// Log2(C) + 1 rounds, one more where ranks fold, one less for 2 ranks. At most S bytes sent per rank; S (P-1)/P reduced when P is a power of
// two, otherwise at most 1.25 S.
schedule halving_reduce_scatter(participant at) {
    const sharing all(at);
    const parts of{at.size, all};
    const int core = all.folded.core;
    schedule plan({.input = at.size, .output = 1, .scratch = at.size > 1 ? at.size : 0});
    if (all.paired)
        plan.round(send(all.twin, of.of(space::input, 1 - all.from, 0, core)),
                   copy(of.of(space::scratch, all.from, 0, core), of.of(space::input, all.from, 0, core)),
                   recv_reduce(all.twin, of.of(space::scratch, all.from, 0, core)));
    int mine = 0;
    bool done = at.size == 1;  // this rank has its own block
    for (int distance = 1, count = core / 2; count > 0; distance *= 2, count /= 2) {
        if (all.number & distance) mine += count;
        const space source = distance == 1 && !all.paired ? space::input : space::scratch;  // the first reduction moves to scratch
        for (int half = all.from; half < all.to; ++half) {
            const rank partner = all.real(all.number ^ distance, half);
            const blocks given = of.of(source, half, mine ^ count, count), kept = of.of(space::scratch, half, mine, count);
            const bool last = count == 1 && kept.first == at.me && kept.count == 1;
            const blocks total = last ? output(0) : kept;
            done |= last;
            if (given.count > 0) plan.add(send(partner, given));
            const bool stands = last && source == space::input;  // the output has this rank's block at the start
            if (kept.count > 0 && !stands && (last || source == space::input)) plan.add(copy(total, {source, kept.first, kept.count}));
            if (kept.count > 0) plan.add(recv_reduce(partner, total));
        }
        plan.end_round();
    }
    for (int half = all.from; half < all.to; ++half) {
        const blocks held = of.of(space::scratch, half, mine, 1);
        for (rank owner = held.first; owner < held.first + held.count; ++owner)
            if (owner != at.me) plan.add(send(owner, scratch(owner)));
            else if (!done) plan.add(copy(output(0), scratch(owner)));
    }
    if (of.holder(at.me) != at.me) plan.add(recv(of.holder(at.me), output(0)));
    plan.end_round();
    return plan;
}

}  // namespace tutti
