// Calls that every rank of a communicator makes, each compared with the serial oracle.
#pragma once

#include "support/oracle.hpp"

#include <tutti/communicator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <string>

namespace tutti::test {

inline constexpr data_type all_types[] = {data_type::f32, data_type::f64, data_type::f16, data_type::bf16, data_type::i8,
                                          data_type::u8,  data_type::i32, data_type::u32, data_type::i64,  data_type::u64};
inline constexpr reduce_op all_ops[] = {sum, prod, min, max, avg};
/// What every rank of a group calls together.
inline constexpr collective all_kinds[] = {
    collective::all_reduce,       collective::broadcast,  collective::reduce,         collective::all_gather,
    collective::reduce_scatter,   collective::all_to_all, collective::barrier,        collective::gather,
    collective::scatter,          collective::scan,       collective::exclusive_scan, collective::all_gather_v,
    collective::reduce_scatter_v, collective::gather_v,   collective::scatter_v,      collective::all_to_all_v};
/// Whether there is such a call: prefixes have no average.
constexpr bool has_op(collective kind, reduce_op op) noexcept {
    const bool prefix = kind == collective::scan || kind == collective::exclusive_scan;
    return reduces(kind) ? op != avg || !prefix : op == sum;
}

/// One rank's part of one call, in memory exactly as large as the call needs.
class part {
public:
    part(communicator& with, const call& what, const oracle& truth, bool in_place)
        : with_(with),
          what_(what),
          truth_(truth),
          in_place_(in_place),
          input_(truth.input(with.rank())),
          output_(truth.output_count(with.rank()) * size_of(what.type), std::byte{0xa5}) {
        const bool elsewhere = has_root(what.kind) && with.rank() != what.root;
        if (elsewhere && (spreads(what.kind) || collects(what.kind))) in_place_ = false;
    }

    /// The part stays where it is until the future has ended.
    future<> begin() {
        const rank me = with_.rank(), root = what_.root;
        const std::size_t mine = truth_.offset(me, me) * size_of(what_.type);
        const buffer own(input_.data(), truth_.input_count(me), what_.type), other(output_.data(), truth_.output_count(me), what_.type);
        const reduce_op op = what_.op;
        buffer from = own, to = in_place_ ? own : other;
        if (in_place_ && collects(what_.kind)) {
            std::copy(input_.begin(), input_.end(), output_.begin() + static_cast<std::ptrdiff_t>(mine));
            from = buffer(output_.data() + mine, own.count, what_.type);
            to = other;
        } else if (in_place_ && spreads(what_.kind)) {
            to = buffer(input_.data() + mine, other.count, what_.type);
        }
        // Gone when the call returns.
        const std::vector<std::size_t> counts = truth_.counts(me), recv_counts = truth_.recv_counts(me);
        switch (what_.kind) {
            case collective::all_reduce: return in_place_ ? with_.all_reduce(own, op) : with_.all_reduce(own, other, op);
            case collective::reduce: return in_place_ ? with_.reduce(own, op, root) : with_.reduce(own, other, op, root);
            case collective::scan: return in_place_ ? with_.scan(own, op) : with_.scan(own, other, op);
            case collective::exclusive_scan: return in_place_ ? with_.exclusive_scan(own, op) : with_.exclusive_scan(own, other, op);
            case collective::broadcast:
                if (me != root) std::fill(input_.begin(), input_.end(), std::byte{0x5a});
                in_place_ = true;
                return with_.broadcast(own, root);
            case collective::all_gather: return with_.all_gather(from, to);
            case collective::gather: return with_.gather(from, to, root);
            case collective::reduce_scatter: return with_.reduce_scatter(from, to, op);
            case collective::scatter: return with_.scatter(from, to, root);
            case collective::all_to_all: return with_.all_to_all(own, other);
            case collective::all_gather_v: return with_.all_gather_v(from, to, counts);
            case collective::gather_v: return with_.gather_v(from, to, counts, root);
            case collective::reduce_scatter_v: return with_.reduce_scatter_v(from, to, counts, op);
            case collective::scatter_v: return with_.scatter_v(from, to, counts, root);
            case collective::all_to_all_v: return with_.all_to_all_v(own, other, counts, recv_counts);
            default: return with_.barrier();
        }
    }

    std::string verdict() const {
        if (result() != truth_.expected(with_.rank())) return "wrong result";
        const bool untouched = !in_place_ || (what_.kind == collective::reduce && with_.rank() != what_.root);
        if (untouched && input_ != truth_.input(with_.rank())) return "the input was written to";
        return "right";
    }

private:
    bytes result() const {
        if (what_.kind == collective::reduce && with_.rank() != what_.root) return {};
        if (in_place_ && spreads(what_.kind)) {
            const auto begin =
                input_.begin() + static_cast<std::ptrdiff_t>(truth_.offset(with_.rank(), with_.rank()) * size_of(what_.type));
            return bytes(begin, begin + static_cast<std::ptrdiff_t>(output_.size()));
        }
        return in_place_ && !collects(what_.kind) ? input_ : output_;
    }

    communicator& with_;
    const call& what_;
    const oracle& truth_;
    bool in_place_;
    bytes input_;
    bytes output_;
};

/// The same calls for all ranks of a group of so many.
struct programme {
    struct entry {
        entry(const call& one, int size, std::uint64_t seed, bool place) : what(one), truth(one, size, seed), in_place(place) {}
        call what;
        oracle truth;
        bool in_place;
    };
    void add(const call& one, int size, bool in_place) {
        entries.emplace_back(one, size, entries.size() + 1,
                             in_place && one.kind != collective::all_to_all && one.kind != collective::all_to_all_v);
    }

    std::deque<entry> entries;
};

inline void check(const programme::entry& each, const part& mine) {
    CAPTURE(name(each.what.kind));
    CAPTURE(name(each.what.type));
    CAPTURE(name(each.what.op));
    CAPTURE(each.what.count);
    CAPTURE(each.what.root);
    CAPTURE(each.in_place);
    REQUIRE(mine.verdict() == "right");
}

/// One call after the other.
inline task<> rehearse(communicator& with, const programme& all) {
    for (const auto& each : all.entries) {
        part mine(with, each.what, each.truth, each.in_place);
        auto begun = mine.begin();
        co_await std::move(begun);
        check(each, mine);
    }
}

/// All calls at once.
inline task<> rehearse_at_once(communicator& with, const programme& all) {
    std::deque<part> parts;
    std::vector<future<>> begun;
    for (const auto& each : all.entries) begun.push_back(parts.emplace_back(with, each.what, each.truth, each.in_place).begin());
    for (auto& each : begun) co_await std::move(each);
    for (std::size_t index = 0; index < parts.size(); ++index) check(all.entries[index], parts[index]);
}

/// Each collective some times, over all types and operators in turn.
inline programme mixed(int size, std::initializer_list<std::size_t> counts, int turn) {
    programme all;
    for (const auto kind : all_kinds)
        for (const std::size_t count : counts) {
            call what{kind, all_types[static_cast<std::size_t>(turn) % 10], sum, 0, count};
            if (const reduce_op op = all_ops[static_cast<std::size_t>(turn / 2) % 5]; has_op(kind, op)) what.op = op;
            if (has_root(kind)) what.root = turn % size;
            all.add(what, size, turn % 3 == 0);
            ++turn;
        }
    return all;
}

}  // namespace tutti::test
