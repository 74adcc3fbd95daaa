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

/// One rank's part of one call, in memory exactly as large as the call needs.
class part {
public:
    part(communicator& with, const call& what, const oracle& truth, bool in_place)
        : with_(with),
          what_(what),
          truth_(truth),
          in_place_(in_place || what.kind == collective::broadcast),
          input_(truth.input(with.rank())),
          output_(truth.output_count() * size_of(what.type)) {
        fill();
    }

    /// The memory as it is before the call.
    void fill() {
        std::copy(truth_.input(with_.rank()).begin(), truth_.input(with_.rank()).end(), input_.begin());
        std::fill(output_.begin(), output_.end(), std::byte{0xa5});
        if (what_.kind == collective::broadcast && with_.rank() != what_.root) std::fill(input_.begin(), input_.end(), std::byte{0x5a});
        if (what_.kind == collective::all_gather && in_place_)
            std::copy(input_.begin(), input_.end(), output_.begin() + static_cast<std::ptrdiff_t>(mine()));
    }

    /// The part stays where it is until the future has ended.
    future<> begin(call_options how = {}) {
        const buffer own(input_.data(), truth_.input_count(), what_.type), other(output_.data(), truth_.output_count(), what_.type);
        switch (what_.kind) {
            case collective::all_reduce:
                return in_place_ ? with_.all_reduce(own, what_.op, how) : with_.all_reduce(own, other, what_.op, how);
            case collective::reduce:
                return in_place_ ? with_.reduce(own, what_.op, what_.root, how) : with_.reduce(own, other, what_.op, what_.root, how);
            case collective::broadcast: return with_.broadcast(own, what_.root, how);
            case collective::all_gather:
                return with_.all_gather(in_place_ ? buffer(output_.data() + mine(), what_.count, what_.type) : own, other, how);
            case collective::reduce_scatter:
                return with_.reduce_scatter(own, in_place_ ? buffer(input_.data() + mine(), what_.count, what_.type) : other, what_.op,
                                            how);
            case collective::all_to_all: return with_.all_to_all(own, other, how);
            default: return with_.barrier(how);
        }
    }

    std::string verdict() const {
        if (result() != truth_.expected(with_.rank())) return "wrong result";
        const bool untouched = !in_place_ || what_.kind == collective::all_to_all || (what_.kind == collective::reduce && with_.rank() != what_.root);
        if (untouched && input_ != truth_.input(with_.rank())) return "the input was written to";
        return "right";
    }

private:
    /// Where this rank's block is, in bytes.
    std::size_t mine() const { return static_cast<std::size_t>(with_.rank()) * what_.count * size_of(what_.type); }
    bytes result() const {
        if (what_.kind == collective::reduce && with_.rank() != what_.root) return {};
        if (in_place_ && what_.kind == collective::reduce_scatter) {
            const auto begin = input_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(with_.rank()) * output_.size());
            return bytes(begin, begin + static_cast<std::ptrdiff_t>(output_.size()));
        }
        const bool in_input = in_place_ && what_.kind != collective::all_gather && what_.kind != collective::all_to_all;
        return in_input ? input_ : output_;
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
    void add(const call& one, int size, bool in_place) { entries.emplace_back(one, size, entries.size() + 1, in_place && one.kind != collective::all_to_all); }

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
    for (const auto kind : {collective::all_reduce, collective::broadcast, collective::reduce, collective::all_gather, collective::reduce_scatter,
                            collective::all_to_all, collective::barrier})
        for (const std::size_t count : counts) {
            call what{kind, all_types[static_cast<std::size_t>(turn) % 10], sum, 0, count};
            if (reduces(kind)) what.op = all_ops[static_cast<std::size_t>(turn / 2) % 5];
            if (has_root(kind)) what.root = turn % size;
            all.add(what, size, turn % 3 == 0);
            ++turn;
        }
    return all;
}

}  // namespace tutti::test
