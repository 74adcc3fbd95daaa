// Random numbers that are the same on every rank, compiler and platform; the distributions of the standard library are not.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace digits {

// SplitMix64 (Steele, Lea, Flood 2014). Streams of one seed are independent for all that training cares about.
class generator {
public:
    explicit generator(std::uint64_t seed, std::uint64_t stream = 0) noexcept : state_(seed) {
        state_ = next() ^ (stream * 0xd1342543de82ef95U);
    }

    std::uint64_t next() noexcept {
        std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31);
    }

    /// Uniform over 0 to bound - 1, without bias. `bound` is at least 1.
    std::uint64_t below(std::uint64_t bound) noexcept {
        const std::uint64_t partial = (UINT64_MAX % bound + 1) % bound;  // what is left over at the top of 64 bits
        std::uint64_t value = next();
        while (value > UINT64_MAX - partial) value = next();
        return value % bound;
    }

    /// Uniform over -limit to limit.
    float within(float limit) noexcept {
        const auto steps = static_cast<float>(static_cast<std::int32_t>(next() >> 40) - (1 << 23));  // 24 bits: exact
        return limit * (steps / (1 << 23));
    }

    template <class T>
    void shuffle(std::span<T> values) noexcept {
        for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
    }

private:
    std::uint64_t state_;
};

}  // namespace digits
