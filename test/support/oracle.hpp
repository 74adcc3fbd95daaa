// What a collective is given on every rank, and what it must give, worked out rank after rank and element after element.
#pragma once

#include "algorithm/catalogue.hpp"
#include "reduce/scalar.hpp"
#include "reduce/visit.hpp"

#include <cstring>
#include <random>
#include <vector>

namespace tutti::test {

using bytes = std::vector<std::byte>;

struct call {
    collective kind = collective::all_reduce;
    data_type type = data_type::f32;
    reduce_op op = sum;
    rank root = 0;
    std::size_t count = 0;  // as the caller counts
};

/// small: whole numbers whose results every type holds exactly. random: any number of a sensible size.
enum class contents { small, random };

inline bool reduces(collective kind) noexcept {
    return kind == collective::all_reduce || kind == collective::reduce || kind == collective::reduce_scatter;
}

/// Different on every rank and in every element, the same for the same seed.
inline bytes make_elements(data_type type, std::size_t count, std::uint64_t seed, contents what) {
    bytes made(count * size_of(type));
    std::mt19937_64 random{seed};
    visit(type, [&]<class T> {
        for (std::size_t index = 0; index < count; ++index) {
            T value{};
            if constexpr (std::integral<T>) {
                value = static_cast<T>(random());
            } else {
                static constexpr double few[] = {1, -1, 2, -2, 1, -1, 0.5, -0.5};
                const double number = what == contents::small ? few[random() % 8] : std::uniform_real_distribution<>(-2, 2)(random);
                value = T(static_cast<float>(number));
            }
            std::memcpy(made.data() + index * sizeof value, &value, sizeof value);
        }
    });
    return made;
}

class oracle {
public:
    oracle(const call& what, int size, std::uint64_t seed, contents kind = contents::small) : what_(what), size_(size) {
        for (rank each = 0; each < size; ++each)
            inputs_.push_back(make_elements(what.type, input_count(), seed * 64 + static_cast<std::uint64_t>(each), kind));
        if (reduces(what.kind)) combine_all();
    }

    std::size_t input_count() const noexcept {
        if (what_.kind == collective::barrier) return 0;
        return what_.count * (what_.kind == collective::reduce_scatter || what_.kind == collective::all_to_all ? ranks() : 1);
    }
    std::size_t output_count() const noexcept {
        if (what_.kind == collective::barrier) return 0;
        return what_.count * (what_.kind == collective::all_gather || what_.kind == collective::all_to_all ? ranks() : 1);
    }
    const bytes& input(rank who) const { return inputs_[static_cast<std::size_t>(who)]; }

    /// Empty where the rank gets nothing.
    bytes expected(rank who) const {
        const auto me = static_cast<std::size_t>(who);
        const std::size_t block = what_.count * size_of(what_.type);
        switch (what_.kind) {
            case collective::all_reduce: return combined_;
            case collective::broadcast: return input(what_.root);
            case collective::reduce: return who == what_.root ? combined_ : bytes();
            case collective::reduce_scatter: return piece(combined_, me, block);
            case collective::all_gather: {
                bytes all;
                for (const bytes& each : inputs_) all.insert(all.end(), each.begin(), each.end());
                return all;
            }
            case collective::all_to_all: {
                bytes all;
                for (const bytes& each : inputs_) {
                    const bytes mine = piece(each, me, block);
                    all.insert(all.end(), mine.begin(), mine.end());
                }
                return all;
            }
            default: return {};
        }
    }

private:
    std::size_t ranks() const noexcept { return static_cast<std::size_t>(size_); }
    static bytes piece(const bytes& all, std::size_t index, std::size_t length) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index * length);
        return bytes(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
    void combine_all() {
        combined_ = inputs_[0];
        for (std::size_t each = 1; each < inputs_.size(); ++each)
            combine_scalar(what_.op, what_.type, combined_.data(), combined_.data(), inputs_[each].data(), input_count());
        if (what_.op == avg) divide_scalar(what_.type, combined_.data(), input_count(), size_);
    }

    call what_;
    int size_;
    std::vector<bytes> inputs_;
    bytes combined_;
};

/// The largest error a sum of `size` numbers within [-2, 2] may have in a type: one rounding for each addition, of a sum that is no
/// larger than 2 * size. An average is smaller and rounded once more.
inline double tolerance(data_type type, int size) noexcept {
    const double unit = type == data_type::f64 ? 0x1p-53 : type == data_type::f32 ? 0x1p-24 : type == data_type::f16 ? 0x1p-11 : 0x1p-8;
    return unit * 2 * size * size;
}

inline double element_at(data_type type, const bytes& of, std::size_t index) {
    double value = 0;
    visit(type, [&]<class T> {
        T one;
        std::memcpy(&one, of.data() + index * sizeof one, sizeof one);
        if constexpr (std::integral<T> || std::floating_point<T>) value = static_cast<double>(one);
        else value = static_cast<double>(static_cast<float>(one));
    });
    return value;
}

}  // namespace tutti::test
