// Parameters with known gradients on every rank, for tests of the reducer: their averages are small integers, exact in every type.
#pragma once

#include <tutti/reducer.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tutti::test {

enum class memory { gathered, placed, mixed };

inline void put(buffer into, std::size_t element, int value) {
    if (into.type == data_type::f32) static_cast<float*>(into.data)[element] = static_cast<float>(value);
    else if (into.type == data_type::f64) static_cast<double*>(into.data)[element] = value;
    else static_cast<bfloat16*>(into.data)[element] = bfloat16(static_cast<float>(value));
}
inline double at(buffer from, std::size_t element) {
    if (from.type == data_type::f32) return static_cast<double>(static_cast<float*>(from.data)[element]);
    if (from.type == data_type::f64) return static_cast<double*>(from.data)[element];
    return static_cast<double>(static_cast<float>(static_cast<bfloat16*>(from.data)[element]));
}

/// One rank's parameters.
class gradients {
public:
    explicit gradients(memory where, std::vector<std::size_t> counts = {300, 1, 0, 700, 257, 5, 1000, 64, 129}) {
        constexpr data_type types[] = {data_type::f32, data_type::f32, data_type::f64, data_type::bf16};
        memory_.resize(counts.size());
        for (std::size_t which = 0; which < counts.size(); ++which) {
            const data_type type = types[which % std::size(types)];
            const bool gathered = where == memory::gathered || (where == memory::mixed && which % 2 == 0);
            if (gathered) memory_[which].resize(counts[which]);
            parameters_.emplace_back("layer " + std::to_string(which), buffer(gathered ? memory_[which].data() : nullptr, counts[which], type));
        }
    }
    const std::vector<parameter>& parameters() const { return parameters_; }
    std::size_t size() const { return parameters_.size(); }

    static int value(rank who, std::size_t which, std::size_t element, int step) {
        return 12 * who + static_cast<int>((which + element + static_cast<std::size_t>(step)) % 13);
    }
    static int average(int size, std::size_t which, std::size_t element, int step) { return value(0, which, element, step) + 6 * (size - 1); }

    void fill(const reducer& in, rank who, std::size_t which, int step) const {
        const buffer into = in.gradient(which);
        for (std::size_t element = 0; element < into.count; ++element) put(into, element, value(who, which, element, step));
    }
    /// How many elements are not what `expected(which, element)` says.
    template <class Expected>
    std::size_t wrong(const reducer& in, Expected expected) const {
        std::size_t count = 0;
        for (std::size_t which = 0; which < size(); ++which) {
            const buffer found = in.gradient(which);
            for (std::size_t element = 0; element < found.count; ++element) count += at(found, element) != static_cast<double>(expected(which, element));
        }
        return count;
    }
    std::size_t wrong_averages(const reducer& in, int ranks, int step) const {
        return wrong(in, [&](std::size_t which, std::size_t element) { return average(ranks, which, element, step); });
    }

    /// A backward pass, in an order of its own for every seed.
    void backward(reducer& in, rank who, int step, unsigned seed) const {
        std::vector<std::size_t> order(size());
        for (std::size_t which = 0; which < size(); ++which) order[which] = size() - 1 - which;
        if (seed != 0) {
            std::mt19937 random(seed);
            std::shuffle(order.begin(), order.end(), random);
        }
        for (const std::size_t which : order) {
            fill(in, who, which, step);
            in.ready(which);
        }
    }

private:
    std::vector<std::vector<double>> memory_;  // wide enough for every type
    std::vector<parameter> parameters_;
};

inline reducer_options small_buckets() {
    reducer_options options;
    options.first_bucket = 1 * KiB;
    options.bucket = 2 * KiB;
    return options;
}

/// The failure that `work` ends with, if any.
inline task<std::optional<failure>> outcome(task<> work) {
    try {
        co_await std::move(work);
    } catch (const failure& why) {
        co_return why;
    }
    co_return std::nullopt;
}

}  // namespace tutti::test
