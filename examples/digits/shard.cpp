#include "digits/shard.hpp"

#include "digits/generator.hpp"

#include <algorithm>
#include <numeric>

namespace digits {

std::vector<std::size_t> visiting_order(std::size_t count, std::uint64_t seed, int epoch) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    generator(seed, static_cast<std::uint64_t>(epoch)).shuffle(std::span(order));
    return order;
}

std::span<const std::size_t> global_batch(std::span<const std::size_t> order, std::size_t batch, std::size_t index) {
    const std::size_t first = std::min(index * batch, order.size());
    return order.subspan(first, std::min(batch, order.size() - first));
}

std::span<const std::size_t> part(std::span<const std::size_t> whole, int rank, int ranks) {
    const auto bound = [&](int edge) { return whole.size() * static_cast<std::size_t>(edge) / static_cast<std::size_t>(ranks); };
    return whole.subspan(bound(rank), bound(rank + 1) - bound(rank));
}

}  // namespace digits
