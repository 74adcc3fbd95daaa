#include "proof/roles.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tutti {
namespace {

/// A digest of what is put in, in order.
class digest {
public:
    explicit digest(std::uint64_t start = 0) noexcept : value_(start) {}
    void put(std::uint64_t next) noexcept {
        value_ = ((value_ + 1) * 0x9e3779b97f4a7c15u) ^ next;  // not symmetric in the two; constants of splitmix64
        value_ = (value_ ^ (value_ >> 29)) * 0xbf58476d1ce4e5b9u;
        value_ ^= value_ >> 32;
    }
    std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_;
};

/// The part of a plan that is kept. The digest covers everything but the names of peers and blocks.
struct outline {
    std::uint64_t steps = 0;
    long transfers = 0;
    std::vector<rank> peers;  // by path
    std::vector<int> back;    // by path: the peer's path that leads here
};

class survey {
public:
    explicit survey(int size) : outlines_(static_cast<std::size_t>(size)) {}

    bool look(const plan_builder& build, const role_limits& limits, roles& found) {
        long steps = 0, paths = 0;
        for (rank me = 0; me < size(); ++me) {
            const schedule plan = build(me);
            steps += static_cast<long>(plan.steps().size());
            // All plans are about as long as that of rank 0 or of the middle rank, so a hopeless survey ends here.
            if (me == 0 && std::min(steps, static_cast<long>(build(size() / 2).steps().size())) > limits.steps / size()) return false;
            outline& mine = edit(me);
            mine = outline_of(plan, found);
            paths += static_cast<long>(mine.peers.size());
            if (steps > limits.steps || paths > limits.paths) return false;
        }
        find_backs();
        return true;
    }

    int size() const noexcept { return static_cast<int>(outlines_.size()); }
    const outline& of(rank who) const noexcept { return outlines_[static_cast<std::size_t>(who)]; }

    /// Refines until the number of different ranks does not grow.
    std::vector<std::uint64_t> colors() const {
        std::vector<std::uint64_t> now;
        for (const outline& each : outlines_) now.push_back(each.steps);
        for (std::size_t known = distinct(now), before = 0; known > before;) {
            std::vector<std::uint64_t> next;
            for (rank me = 0; me < size(); ++me) {
                digest mine(now[static_cast<std::size_t>(me)]);
                for (std::size_t path = 0; path < of(me).peers.size(); ++path) {
                    mine.put(now[static_cast<std::size_t>(of(me).peers[path])]);
                    mine.put(static_cast<std::uint64_t>(of(me).back[path]));
                }
                next.push_back(mine.value());
            }
            before = known;
            known = distinct(next);
            now = std::move(next);
        }
        return now;
    }

private:
    outline& edit(rank who) noexcept { return outlines_[static_cast<std::size_t>(who)]; }

    outline outline_of(const schedule& plan, roles& found) {
        outline made;
        digest all;
        const std::vector<int> paths = number_peers(plan);
        std::size_t index = 0;
        for (int round = 0; round < plan.rounds(); ++round) {
            all.put(~std::uint64_t{0});
            for (const step& line : plan.round(round)) {
                const int path = paths[index++];
                all.put(static_cast<std::uint64_t>(line.what) << 62 | static_cast<std::uint64_t>(line.here.count) << 31 |
                        static_cast<std::uint32_t>(path + 1));
                if (line.what == action::copy) continue;
                ++made.transfers;
                found.largest_transfer = std::max(found.largest_transfer, line.here.count);
                if (path == static_cast<int>(made.peers.size())) made.peers.push_back(line.peer);
            }
        }
        found.whole = std::max({found.whole, plan.spaces().input, plan.spaces().output});
        made.steps = all.value();
        return made;
    }

    static std::size_t distinct(std::vector<std::uint64_t> values) {
        std::sort(values.begin(), values.end());
        return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
    }

    /// Collects the paths that lead to each rank, then finds for each of them the path that leads back.
    void find_backs() {
        std::vector<std::size_t> ends(outlines_.size() + 1);
        for (const outline& each : outlines_)
            for (const rank peer : each.peers) ++ends[static_cast<std::size_t>(peer) + 1];
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        struct arrow {
            rank from;
            int path;
        };
        std::vector<arrow> leading(ends.back());
        std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
        for (rank me = 0; me < size(); ++me) {
            edit(me).back.assign(of(me).peers.size(), -1);
            for (int path = 0; const rank peer : of(me).peers) leading[next[static_cast<std::size_t>(peer)]++] = {me, path++};
        }
        std::vector<int> number(outlines_.size(), -1);
        for (rank me = 0; me < size(); ++me) {
            for (int path = 0; const rank peer : of(me).peers) number[static_cast<std::size_t>(peer)] = path++;
            for (std::size_t at = ends[static_cast<std::size_t>(me)]; at < ends[static_cast<std::size_t>(me) + 1]; ++at) {
                const int back = number[static_cast<std::size_t>(leading[at].from)];
                TUTTI_CHECK(back >= 0, "who sends to a rank, or receives from it, is named in that rank's plan too");
                edit(leading[at].from).back[static_cast<std::size_t>(leading[at].path)] = back;
            }
            for (const rank peer : of(me).peers) number[static_cast<std::size_t>(peer)] = -1;
        }
    }

    std::vector<outline> outlines_;
};

}  // namespace

std::vector<int> number_peers(const schedule& plan) {
    // Most plans name few peers, and the same ones round after round; a table by rank serves those that name all.
    std::vector<int> known, found;
    found.reserve(plan.steps().size());
    int next = 0;
    for (const step& line : plan.steps()) {
        if (line.what == action::copy) {
            found.push_back(-1);
            continue;
        }
        const auto peer = static_cast<std::size_t>(line.peer);
        if (peer >= known.size()) known.resize(peer + 1, -1);
        if (known[peer] < 0) known[peer] = next++;
        found.push_back(known[peer]);
    }
    return found;
}

std::optional<roles> roles_of(int size, const plan_builder& build, bool merged, const role_limits& limits) {
    roles found;
    survey world(size);
    if (!world.look(build, limits, found)) return std::nullopt;
    std::vector<int> played(static_cast<std::size_t>(size));
    const std::vector<std::uint64_t> colors = merged ? world.colors() : std::vector<std::uint64_t>();
    std::unordered_map<std::uint64_t, int> known;
    for (rank me = 0; me < size; ++me) {
        const std::uint64_t color = merged ? colors[static_cast<std::size_t>(me)] : static_cast<std::uint64_t>(me);
        const auto [place, fresh] = known.try_emplace(color, static_cast<int>(found.all.size()));
        if (fresh) found.all.push_back({me, 0, world.of(me).transfers, {}});
        ++found.all[static_cast<std::size_t>(place->second)].ranks;
        played[static_cast<std::size_t>(me)] = place->second;
    }
    for (role& each : found.all) {
        const outline& mine = world.of(each.one);
        for (std::size_t path = 0; path < mine.peers.size(); ++path)
            each.paths.push_back({played[static_cast<std::size_t>(mine.peers[path])], mine.back[path]});
    }
    return found;
}

}  // namespace tutti
