// The ways in which a collective can be tried, as a product of factors: a subject (algorithm, type and operator), ranks, counts, memory, lanes and
// slices. The whole product is large; a sample of it has every two levels of any two factors together.
#pragma once

#include "support/matrix.hpp"
#include "support/oracle.hpp"

#include "algorithm/catalogue.hpp"

#include <array>
#include <string>
#include <vector>

namespace tutti::test {

/// An algorithm with elements and an operator that go together.
struct subject {
    const algorithm* entry = nullptr;
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;
    reduction op = sum;
};

/// All there are, in a fixed order.
const std::vector<subject>& subjects();

inline constexpr int sizes[] = {1, 2, 3, 4, 5, 7, 8};

/// Which host a rank plays, for algorithms that want several: two ranks on each.
constexpr int host_of(const algorithm& entry, rank me) noexcept { return entry.fits ? me / 2 : 0; }

/// Returns counts of elements for a group of `size` ranks. The last is longer than some slices.
constexpr std::array<std::size_t, 8> counts_for(int size) noexcept {
    const auto ranks = static_cast<std::size_t>(size);
    return {0, 1, ranks - 1, ranks, ranks + 1, 97, 1009, 10'007};
}

enum class place { beside, in_place };
inline constexpr place places[] = {place::beside, place::in_place};

/// How vectors travel, by the options of the context.
struct way {
    const char* name;
    std::size_t small_bytes;  // up to here the small lane
    int bulk = 1;
    int threads = 1;
};
inline constexpr way lanes[] = {{"the small lane", std::size_t{1} << 40},
                                {"the small lane within a host", std::size_t{1} << 40, 1, 2},  // threads of its own make it real memory
                                {"a bulk lane", 0},
                                {"three bulk lanes", 0, 3},
                                {"four bulk lanes on two threads", 0, 4, 2}};
inline constexpr std::size_t slices[] = {1000, 256 * KiB};  // bytes

/// A level of each factor, by its place in the lists above.
struct sample_case {
    enum factor { by_subject, by_size, by_count, by_place, by_lane, by_slice };
    static constexpr std::size_t factors = 6;
    std::array<int, factors> at{};

    const subject& what() const { return subjects()[static_cast<std::size_t>(at[by_subject])]; }
    int size() const noexcept { return sizes[at[by_size]]; }
    std::size_t count() const noexcept { return counts_for(size())[static_cast<std::size_t>(at[by_count])]; }
    place where() const noexcept { return places[at[by_place]]; }
    const way& lane() const noexcept { return lanes[at[by_lane]]; }
    std::size_t slice_bytes() const noexcept { return slices[at[by_slice]]; }
    /// Cases that one group of ranks can do, one after the other, have the same.
    auto group() const { return std::tuple(what().entry, at[by_size], at[by_lane], at[by_slice]); }
    std::string text() const;
};
/// How many levels each factor has.
std::array<int, sample_case::factors> levels();

/// Returns whether there is such a case: not every algorithm serves every size, and not every collective works in place, or on elements.
bool possible(const sample_case& one);

std::vector<sample_case> whole_product();
/// Of every subject eight cases, in which all levels of all other factors occur.
std::vector<sample_case> covering_sample();

extern const custom_op<std::uint16_t> masked_sum;

}  // namespace tutti::test
