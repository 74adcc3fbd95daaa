// The inputs of a collective on every rank, and the outputs that it must give, worked out rank after rank and element after element.
#pragma once

#include <tutti/reduction.hpp>

#include "algorithm/catalogue.hpp"
#include "reduce/identity.hpp"
#include "reduce/scalar.hpp"
#include "reduce/visit.hpp"

#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace tutti::test {

using byte_vector = std::vector<std::byte>;

/// At once, where a comparison of vectors looks at each byte, which takes a sanitizer long.
inline bool same_bytes(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
    return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

struct call {
    collective kind = collective::all_reduce;
    data_type type = data_type::f32;
    reduction op = sum;
    rank root = 0;
    std::size_t count = 0;  // as the caller counts; where every rank has a count of its own, what those are made of
    std::size_t opaque_bytes = 0;

    std::size_t element_bytes() const noexcept { return type == data_type::opaque ? opaque_bytes : size_of(type); }
    buffer of(void* data, std::size_t elements) const noexcept {
        buffer made(data, elements, type);
        made.opaque_bytes = opaque_bytes;
        return made;
    }
};

inline constexpr auto all_types = reducible_types;
/// Halves keep small numbers exact.
inline constexpr reduction all_ops[] = {sum, prod, min, max, avg, band, bor, bxor, premul_sum(-0.5)};
static_assert(std::size(all_ops) == library_ops.size(), "test::all_ops needs each operator of the library");

/// The first type from `turn` on, in turn, for which the operator is defined.
inline data_type type_for(const reduction& op, std::size_t turn) noexcept {
    while (!defined(op.kind(), all_types[turn % std::size(all_types)])) ++turn;
    return all_types[turn % std::size(all_types)];
}

/// Returns whether there is such a call: prefixes have no average, and a user's operator may have no identity.
constexpr bool has_op(collective kind, const reduction& op) noexcept {
    if (!reduces(kind)) return op == sum;
    if (kind == collective::exclusive_scan && op.user() && op.user()->identity().empty()) return false;
    return op != reduce_op::avg || (kind != collective::scan && kind != collective::exclusive_scan);
}

/// Elements that rank `from` has for rank `to`, where all of them may differ: some have none. All are 0 when `count` is.
inline std::size_t unequal(std::size_t count, rank from, rank to) noexcept {
    const std::size_t some[] = {count, 0, 2 * count + 1, (count + 1) / 2, 0};
    return count == 0 ? 0 : some[static_cast<std::size_t>(from * 3 + to) % 5];
}

/// small: whole numbers whose results every type holds exactly. random: any number of a sensible size.
enum class contents { small, random };

/// Different on every rank and in every element, the same for the same seed.
inline byte_vector make_bytes(std::size_t count, std::uint64_t seed) {
    byte_vector made(count);
    std::mt19937_64 random{seed};
    for (auto& each : made) each = static_cast<std::byte>(random());
    return made;
}
inline byte_vector make_elements(data_type type, std::size_t count, std::uint64_t seed, contents what) {
    byte_vector made(count * size_of(type));
    std::mt19937_64 random{seed};
    visit(type, [&]<class T> {
        for (std::size_t index = 0; index < count; ++index) {
            const auto number = [&] {
                static constexpr double few[] = {1, -1, 2, -2, 1, -1, 0.5, -0.5};
                return static_cast<float>(what == contents::small ? few[random() % 8] : std::uniform_real_distribution<>(-2, 2)(random));
            };
            T value{};
            if constexpr (std::same_as<T, truth>) {
                value.byte = random() % 2;
            } else if constexpr (std::integral<T>) {
                value = static_cast<T>(random());
            } else if constexpr (is_complex(data_type_of<T>)) {
                value.real(number());
                value.imag(number());
            } else {
                value = T(number());
            }
            std::memcpy(made.data() + index * sizeof value, &value, sizeof value);
        }
    });
    return made;
}

/// Bit for bit, but for the sign of a zero in a complex number, which depends on the order of multiplications.
inline bool alike(data_type type, const byte_vector& one, const byte_vector& other) {
    if (same_bytes(one, other)) return true;
    if (!is_complex(type)) return false;
    bool same = one.size() == other.size();
    const auto compare = [&]<class F> {
        for (std::size_t at = 0; same && at < one.size(); at += sizeof(F)) {
            F a, b;
            std::memcpy(&a, one.data() + at, sizeof a);
            std::memcpy(&b, other.data() + at, sizeof b);
            same = a == b;
        }
    };
    if (type == data_type::cf32) compare.operator()<float>();
    else compare.operator()<double>();
    return same;
}

class oracle {
public:
    oracle(const call& what, int size, std::uint64_t seed, contents kind = contents::small) : what_(what), size_(size) {
        for (rank each = 0; each < size; ++each)
            inputs_.push_back(what.type == data_type::opaque
                                  ? make_bytes(input_count(each) * what.opaque_bytes, seed * 64 + static_cast<std::uint64_t>(each))
                                  : make_elements(what.type, input_count(each), seed * 64 + static_cast<std::uint64_t>(each), kind));
        if (reduces(what.kind)) combined_ = combined(size);
    }

    /// Elements of what rank `from` has for rank `to`; where all blocks of one rank are alike, those of `to`.
    std::size_t block(rank from, rank to) const noexcept {
        if (!has_counts(what_.kind)) return what_.count;
        return unequal(what_.count, what_.kind == collective::all_to_all_v ? from : 0, to);
    }
    std::vector<std::size_t> counts(rank from) const {
        std::vector<std::size_t> all;
        for (rank to = 0; to < size_; ++to) all.push_back(block(from, to));
        return all;
    }
    std::vector<std::size_t> recv_counts(rank to) const {
        std::vector<std::size_t> all;
        for (rank from = 0; from < size_; ++from) all.push_back(block(from, to));
        return all;
    }
    /// Elements before this rank's own block.
    std::size_t offset(rank from, rank to) const noexcept {
        std::size_t before = 0;
        for (rank each = 0; each < to; ++each) before += block(from, each);
        return before;
    }
    std::size_t input_count(rank who) const noexcept {
        if (what_.kind == collective::barrier) return 0;
        if (!spreads(what_.kind)) return block(who, who);
        return has_root(what_.kind) && who != what_.root ? 0 : offset(who, size_);
    }
    std::size_t output_count(rank who) const noexcept {
        if (what_.kind == collective::barrier) return 0;
        if (!collects(what_.kind)) return block(who, who);
        if (has_root(what_.kind) && who != what_.root) return 0;
        std::size_t all = 0;
        for (rank from = 0; from < size_; ++from) all += what_.kind == collective::all_to_all_v ? block(from, who) : block(from, from);
        return all;
    }
    const byte_vector& input(rank who) const { return inputs_[static_cast<std::size_t>(who)]; }

    /// Empty where the rank gets nothing.
    byte_vector expected(rank who) const {
        const bool none = has_root(what_.kind) && who != what_.root;
        byte_vector all;
        switch (what_.kind) {
            case collective::all_reduce: return combined_;
            case collective::broadcast: return input(what_.root);
            case collective::reduce: return none ? byte_vector() : combined_;
            case collective::reduce_scatter:
            case collective::reduce_scatter_v: return piece(combined_, who, who);
            case collective::scan: return combined(who + 1);
            case collective::exclusive_scan: return combined(who);
            case collective::scatter:
            case collective::scatter_v: return piece(input(what_.root), what_.root, who);
            case collective::all_to_all:
            case collective::all_to_all_v:
                for (rank from = 0; from < size_; ++from) append(all, piece(input(from), from, who));
                return all;
            case collective::barrier: return {};
            default:  // all_gather and gather
                for (rank from = 0; from < size_ && !none; ++from) append(all, input(from));
                return all;
        }
    }

private:
    static void append(byte_vector& to, const byte_vector& more) { to.insert(to.end(), more.begin(), more.end()); }
    /// Returns what `from` has for `to`.
    byte_vector piece(const byte_vector& all, rank from, rank to) const {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(offset(from, to) * what_.element_bytes());
        return byte_vector(begin, begin + static_cast<std::ptrdiff_t>(block(from, to) * what_.element_bytes()));
    }
    byte_vector contribution(rank who) const {
        byte_vector mine = input(who);
        if (what_.op.kind() == reduce_op::premul) scale_scalar(what_.type, mine.data(), mine.data(), input_count(who), what_.op.factor());
        return mine;
    }
    /// Of ranks 0 to count - 1.
    byte_vector combined(rank count) const {
        const std::size_t elements = input_count(0);
        byte_vector all = contribution(0);
        if (count == 0) fill_identity(what_.op, what_.type, all.data(), elements);
        for (rank each = 1; each < count; ++each) {
            const byte_vector next = contribution(each);
            if (what_.op.user()) what_.op.user()->combine(all.data(), all.data(), next.data(), elements);
            else combine_scalar(what_.op.kind(), what_.type, all.data(), all.data(), next.data(), elements);
        }
        if (what_.op == reduce_op::avg) divide_scalar(what_.type, all.data(), elements, size_);
        return all;
    }

    call what_;
    int size_;
    std::vector<byte_vector> inputs_;
    byte_vector combined_;
};

/// The largest error a sum of `size` numbers within [-2, 2] may have in a type: one rounding for each addition, of a sum that is no
/// larger than 2 * size. An average is smaller and rounded once more.
inline double tolerance(data_type type, int size) noexcept {
    const double unit = type == data_type::f64 ? 0x1p-53 : type == data_type::f32 ? 0x1p-24 : type == data_type::f16 ? 0x1p-11 : 0x1p-8;
    return unit * 2 * size * size;
}

inline double element_at(data_type type, const byte_vector& of, std::size_t index) {
    double value = 0;
    visit(type, [&]<class T> {
        T one;
        std::memcpy(&one, of.data() + index * sizeof one, sizeof one);
        if constexpr (std::integral<T> || std::floating_point<T>) value = static_cast<double>(one);
        else if constexpr (requires { static_cast<float>(one); }) value = static_cast<double>(static_cast<float>(one));
    });
    return value;
}

}  // namespace tutti::test
