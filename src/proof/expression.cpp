#include "proof/expression.hpp"

namespace tutti {
namespace {

constexpr std::uint64_t key_of(int high, int low, std::uint64_t kind) noexcept {
    return kind << 63 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 31 | static_cast<std::uint32_t>(low);
}

}  // namespace

expressions::id expressions::keep(std::uint64_t key, const node& value) {
    const auto [place, fresh] = known_.try_emplace(key, static_cast<id>(nodes_.size()));
    if (fresh) nodes_.push_back(value);
    return place->second;
}

expressions::id expressions::of(piece what) { return keep(key_of(what.owner, what.index, 0), {nothing, nothing, what}); }

expressions::id expressions::combined(id first, id second) {
    if (first == nothing || second == nothing) return nothing;
    return keep(key_of(first, second, 1), {first, second, {}});
}

std::vector<piece> expressions::pieces(id which) const {
    std::vector<piece> found;
    std::vector<id> open;
    if (which != nothing) open.push_back(which);
    while (!open.empty()) {
        const node& next = nodes_[static_cast<std::size_t>(open.back())];
        open.pop_back();
        if (next.first == nothing) {
            found.push_back(next.what);
            continue;
        }
        open.push_back(next.second);
        open.push_back(next.first);
    }
    return found;
}

std::string expressions::text(id which) const {
    if (which == nothing) return "nothing";
    const node& value = nodes_[static_cast<std::size_t>(which)];
    if (value.first != nothing) return "(" + text(value.first) + "+" + text(value.second) + ")";
    std::string owner = std::to_string(value.what.owner);
    return value.what.index == 0 ? owner : owner + "." + std::to_string(value.what.index);
}

}  // namespace tutti
