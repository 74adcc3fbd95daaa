// Calls that every rank of a communicator makes, each compared with the serial oracle.
#pragma once

#include "support/oracle.hpp"

#include <tutti/communicator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

namespace tutti::test {

/// The collectives that all ranks of a group call together.
inline constexpr collective all_kinds[] = {
    collective::all_reduce,       collective::broadcast,  collective::reduce,         collective::all_gather,
    collective::reduce_scatter,   collective::all_to_all, collective::barrier,        collective::gather,
    collective::scatter,          collective::scan,       collective::exclusive_scan, collective::all_gather_v,
    collective::reduce_scatter_v, collective::gather_v,   collective::scatter_v,      collective::all_to_all_v};

/// Where a part's memory is: its own, exactly as large as the call needs; that of communicator::allocate; the same, and the call says so.
enum class memory_kind { own, arena, told };

class memory {
public:
    memory(communicator& with, std::size_t size, memory_kind where) {
        if (where == memory_kind::own) own_.resize(size);
        else arena_ = with.allocate<std::uint8_t>(size);
        all_ = where == memory_kind::own ? std::span(own_) : std::as_writable_bytes(std::span(arena_.data(), size));
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    std::byte* data() noexcept { return all_.data(); }
    std::size_t size() const noexcept { return all_.size(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

private:
    byte_vector own_;
    shared_array<std::uint8_t> arena_;
    std::span<std::byte> all_;
};

/// One rank's part of one call.
class part {
public:
    part(communicator& with, const call& what, const oracle& truth, bool in_place, memory_kind where = memory_kind::own)
        : with_(with),
          what_(what),
          truth_(truth),
          in_place_((in_place && !elsewhere()) || what.kind == collective::broadcast),
          where_(where),
          input_(with, truth.input(with.rank()).size(), where),
          output_(with, truth.output_count(with.rank()) * what.element_bytes(), where) {
        fill();
    }

    /// The memory as it is before the call.
    void fill() {
        std::copy(truth_.input(with_.rank()).begin(), truth_.input(with_.rank()).end(), input_.begin());
        std::fill(output_.begin(), output_.end(), std::byte{0xa5});
        if (what_.kind == collective::broadcast && with_.rank() != what_.root) std::fill(input_.begin(), input_.end(), std::byte{0x5a});
        if (in_place_ && collects(what_.kind))
            std::copy(input_.begin(), input_.end(), output_.begin() + static_cast<std::ptrdiff_t>(mine()));
    }

    /// The part stays where it is until the future has ended. `at_root`: of gather_v and scatter_v the root alone says the counts.
    future<> begin(call_options how = {}, bool at_root = false) {
        how.allocated = where_ == memory_kind::told;
        const rank me = with_.rank(), root = what_.root;
        const buffer own = what_.of(input_.data(), truth_.input_count(me)), other = what_.of(output_.data(), truth_.output_count(me));
        const reduction op = what_.op;
        buffer from = own, to = in_place_ ? own : other;
        if (in_place_ && collects(what_.kind)) {
            from = what_.of(output_.data() + mine(), own.count);
            to = other;
        } else if (in_place_ && spreads(what_.kind)) {
            to = what_.of(input_.data() + mine(), other.count);
        }
        // Gone when the call returns.
        const std::vector<std::size_t> counts = truth_.counts(me), recv_counts = truth_.recv_counts(me);
        const counts_at_root roots = me == root ? counts_at_root(counts) : counts_at_root();
        switch (what_.kind) {
            case collective::all_reduce: return in_place_ ? with_.all_reduce(own, op, how) : with_.all_reduce(own, other, op, how);
            case collective::reduce: return in_place_ ? with_.reduce(own, op, root, how) : with_.reduce(own, other, op, root, how);
            case collective::scan: return in_place_ ? with_.scan(own, op, how) : with_.scan(own, other, op, how);
            case collective::exclusive_scan:
                return in_place_ ? with_.exclusive_scan(own, op, how) : with_.exclusive_scan(own, other, op, how);
            case collective::broadcast: return with_.broadcast(own, root, how);
            case collective::all_gather: return with_.all_gather(from, to, how);
            case collective::gather: return with_.gather(from, to, root, how);
            case collective::reduce_scatter: return with_.reduce_scatter(from, to, op, how);
            case collective::scatter: return with_.scatter(from, to, root, how);
            case collective::all_to_all: return with_.all_to_all(own, other, how);
            case collective::all_gather_v: return with_.all_gather_v(from, to, counts, how);
            case collective::gather_v:
                return at_root ? with_.gather_v(from, to, roots, root, how) : with_.gather_v(from, to, counts, root, how);
            case collective::reduce_scatter_v: return with_.reduce_scatter_v(from, to, counts, op, how);
            case collective::scatter_v:
                return at_root ? with_.scatter_v(from, to, roots, root, how) : with_.scatter_v(from, to, counts, root, how);
            case collective::all_to_all_v: return with_.all_to_all_v(own, other, counts, recv_counts, how);
            default: return with_.barrier(how);
        }
    }

    std::string verdict() const {
        if (!alike(what_.type, result(), truth_.expected(with_.rank()))) return "wrong result";
        const bool untouched = !in_place_ || (what_.kind == collective::reduce && with_.rank() != what_.root);
        if (untouched && !same_bytes(input_, truth_.input(with_.rank()))) return "the input was written to";
        return "right";
    }

    /// Returns the output of a call that has ended.
    byte_vector result() const {
        if (what_.kind == collective::reduce && with_.rank() != what_.root) return {};
        if (in_place_ && spreads(what_.kind)) {
            const auto begin = input_.begin() + static_cast<std::ptrdiff_t>(mine());
            return byte_vector(begin, begin + static_cast<std::ptrdiff_t>(output_.size()));
        }
        const memory& all = in_place_ && !collects(what_.kind) ? input_ : output_;
        return byte_vector(all.begin(), all.end());
    }

private:
    /// Where this rank's block is, in bytes.
    std::size_t mine() const { return truth_.offset(with_.rank(), with_.rank()) * what_.element_bytes(); }
    /// Where gather and scatter use one buffer only.
    bool elsewhere() const {
        return has_root(what_.kind) && with_.rank() != what_.root && (spreads(what_.kind) || collects(what_.kind));
    }

    communicator& with_;
    const call& what_;
    const oracle& truth_;
    bool in_place_;
    memory_kind where_;
    memory input_;
    memory output_;
};

/// The same calls for all ranks of a group of `size`.
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
    CAPTURE(name(each.what.op.kind()));
    CAPTURE(each.what.count);
    CAPTURE(each.what.root);
    CAPTURE(each.in_place);
    REQUIRE(mine.verdict() == "right");
}

/// One call after the other.
inline task<> rehearse(communicator& with, const programme& all, memory_kind where = memory_kind::own) {
    for (const auto& each : all.entries) {
        part mine(with, each.what, each.truth, each.in_place, where);
        auto begun = mine.begin();
        co_await std::move(begun);
        check(each, mine);
    }
}

/// All calls at once.
inline task<> rehearse_at_once(communicator& with, const programme& all, memory_kind where = memory_kind::own) {
    std::deque<part> parts;
    std::vector<future<>> begun;
    for (const auto& each : all.entries) begun.push_back(parts.emplace_back(with, each.what, each.truth, each.in_place, where).begin());
    for (auto& each : begun) co_await std::move(each);
    for (std::size_t index = 0; index < parts.size(); ++index) check(all.entries[index], parts[index]);
}

/// Each collective some times, over all types and operators in turn.
inline programme mixed(int size, std::initializer_list<std::size_t> counts, int turn) {
    programme all;
    for (const auto kind : all_kinds)
        for (const std::size_t count : counts) {
            call what{kind, data_type::f32, sum, 0, count};
            if (const reduction& op = all_ops[static_cast<std::size_t>(turn / 2) % std::size(all_ops)]; has_op(kind, op)) what.op = op;
            what.type = type_for(what.op, static_cast<std::size_t>(turn));
            if (has_root(kind)) what.root = turn % size;
            all.add(what, size, turn % 3 == 0);
            ++turn;
        }
    return all;
}

}  // namespace tutti::test
