#include "proof/simulate.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace tutti {
namespace {

enum class happening : std::uint8_t { left, arrived, landed, applied };

/// An event of one role. `depth` counts events that follow from each other at the same time. So the order of a role's events depends only on its own
/// past; without `depth` the order of ranks in the queue would decide.
struct incident {
    double time;
    std::uint32_t depth;
    happening what;
    int which;  // path, step or round
    int who;

    friend bool operator>(const incident& one, const incident& other) noexcept {
        if (one.time != other.time) return one.time > other.time;
        if (one.depth != other.depth) return one.depth > other.depth;
        if (one.what != other.what) return one.what > other.what;
        return one.which != other.which ? one.which > other.which : one.who > other.who;
    }
};

/// The order in which transfers travel on one path in one direction: (segment, round, slice, step).
class itinerary {
public:
    void add(int step, int round) {
        steps_.push_back(step);
        rounds_.push_back(round);
    }
    bool ended() const noexcept { return first_ == steps_.size(); }
    int step() const noexcept { return steps_[first_ + inside_]; }
    int round() const noexcept { return rounds_[first_]; }
    long slice() const noexcept { return slice_; }
    void next(long slices, long segment) noexcept {
        if (const std::size_t after = first_ + ++inside_; after < steps_.size() && rounds_[after] == rounds_[first_]) return;
        const std::size_t end = first_ + inside_;
        inside_ = 0;
        const long last = std::min(segment_ + segment, slices);
        if (++slice_ < last) return;
        first_ = end;
        if (ended() && last < slices) {
            segment_ = last;
            first_ = 0;
        }
        slice_ = segment_;
    }

private:
    std::vector<int> steps_;
    std::vector<int> rounds_;
    std::size_t first_ = 0;  // of the steps that share a round
    std::size_t inside_ = 0;
    long segment_ = 0;  // its first slice
    long slice_ = 0;
};

struct route {
    itinerary out;
    itinerary in;
    bool busy = false;  // a slice of it is with the card
};

/// How far a round has come.
struct stage {
    int first = 0;  // step
    int transfers = 0;
    int ready = 0;   // transfers whose slice `begun` is done
    long begun = 0;  // slices whose reductions and copies have begun
    long ended = 0;
    double work = 0;  // blocks to combine or copy
};

struct player {
    explicit player(const schedule& from) : plan(from), done(plan.steps().size()), paths(number_peers(plan)) {
        int index = 0;
        for (int round = 0; round < plan.rounds(); ++round) {
            stage& next = stages.emplace_back();
            next.first = index;
            for (const step& line : plan.round(round)) {
                const int path = paths[static_cast<std::size_t>(index)];
                if (path >= static_cast<int>(routes.size())) routes.resize(static_cast<std::size_t>(path) + 1);
                round_of.push_back(round);
                if (line.what == action::copy || line.what == action::recv_reduce) next.work += line.here.count;
                if (path >= 0) {
                    ++next.transfers;
                    route& way = routes[static_cast<std::size_t>(path)];
                    (line.what == action::send ? way.out : way.in).add(index, round);
                }
                ++index;
            }
        }
    }
    bool finished(long slices) const noexcept { return stages.empty() || stages.back().ended == slices; }

    schedule plan;
    std::vector<long> done;  // by step: slices transferred
    std::vector<int> paths;  // by step
    std::vector<int> round_of;
    std::vector<route> routes;
    std::vector<stage> stages;
    double sends_from = 0, receives_from = 0, works_from = 0;  // when card and core are free again
};

class simulation {
public:
    simulation(const roles& parts, const plan_builder& build, double block_bytes, long slices, long segment, const network& over)
        : parts_(parts),
          slices_(slices),
          segment_(segment > 0 ? segment : slices),
          over_(over),
          slice_bytes_(block_bytes / static_cast<double>(slices)) {
        for (const role& each : parts.all) players_.emplace_back(build(each.one));
    }

    void run() {
        for (int who = 0; who < static_cast<int>(players_.size()); ++who) go_on(who, 0);
        while (!queue_.empty()) {
            const incident next = queue_.top();
            queue_.pop();
            now_ = next.time;
            depth_ = next.depth;
            take(next);
        }
    }

    double ended() const noexcept { return now_; }
    std::string stuck() const {
        for (std::size_t who = 0; who < players_.size(); ++who) {
            if (players_[who].finished(slices_)) continue;
            int round = 0;
            while (players_[who].stages[static_cast<std::size_t>(round)].ended == slices_) ++round;
            return "rank " + std::to_string(parts_.all[who].one) + " waits for ever in round " + std::to_string(round);
        }
        return {};
    }

private:
    player& of(int who) noexcept { return players_[static_cast<std::size_t>(who)]; }
    void happen(double time, happening what, int which, int who) { queue_.push({time, time > now_ ? 0 : depth_ + 1, what, which, who}); }
    double card_seconds(const player& mine, int step) const noexcept {
        return over_.overhead + mine.plan.steps()[static_cast<std::size_t>(step)].here.count * slice_bytes_ / over_.bandwidth;
    }

    void take(const incident& next) {
        player& mine = of(next.who);
        if (next.what == happening::left) {
            route& way = mine.routes[static_cast<std::size_t>(next.which)];
            const int step = way.out.step();
            way.out.next(slices_, segment_);
            way.busy = false;
            transferred(next.who, step);
            feed(next.who, next.which);
        } else if (next.what == happening::arrived) {
            itinerary& way = mine.routes[static_cast<std::size_t>(next.which)].in;
            TUTTI_CHECK(!way.ended(), "what is sent is received");
            const int step = way.step();
            way.next(slices_, segment_);
            mine.receives_from = std::max(now_, mine.receives_from) + card_seconds(mine, step);
            happen(mine.receives_from, happening::landed, step, next.who);
        } else if (next.what == happening::landed) {
            transferred(next.who, next.which);
        } else {
            ++mine.stages[static_cast<std::size_t>(next.which)].ended;
            go_on(next.who, next.which + 1);
        }
    }

    /// Called when one more slice of this round may begin. Feeds its lanes, and goes on with the next rounds as far as all transfers have ended.
    void go_on(int who, int round) {
        player& mine = of(who);
        do {
            if (round == mine.plan.rounds()) return;
            int step = mine.stages[static_cast<std::size_t>(round)].first;
            for (const tutti::step& line : mine.plan.round(round)) {
                if (line.what == action::send) feed(who, mine.paths[static_cast<std::size_t>(step)]);
                ++step;
            }
        } while (apply(who, round++));
    }

    long may_begin(const player& mine, int round) const noexcept {
        return round == 0 ? slices_ : mine.stages[static_cast<std::size_t>(round) - 1].ended;
    }

    void feed(int who, int path) {
        player& mine = of(who);
        route& way = mine.routes[static_cast<std::size_t>(path)];
        if (way.busy || way.out.ended() || way.out.slice() >= may_begin(mine, way.out.round())) return;
        way.busy = true;
        const double begins = std::max(now_, mine.sends_from);
        mine.sends_from = begins + card_seconds(mine, way.out.step());
        happen(mine.sends_from, happening::left, path, who);
        const tutti::path& to = parts_.all[static_cast<std::size_t>(who)].paths[static_cast<std::size_t>(path)];
        happen(begins + over_.latency, happening::arrived, to.back, to.role);
    }

    void transferred(int who, int step) {
        player& mine = of(who);
        const int round = mine.round_of[static_cast<std::size_t>(step)];
        stage& at = mine.stages[static_cast<std::size_t>(round)];
        if (mine.done[static_cast<std::size_t>(step)]++ != at.begun) return;
        ++at.ready;
        if (apply(who, round)) go_on(who, round + 1);
    }

    /// Combines and copies the slices that have come, one after the other. Returns whether slices ended at once, because that takes no time.
    bool apply(int who, int round) {
        player& mine = of(who);
        stage& at = mine.stages[static_cast<std::size_t>(round)];
        const bool takes_time = over_.reduce_bandwidth > 0 && at.work > 0;
        bool any = false;
        while (at.ready == at.transfers && at.begun < may_begin(mine, round)) {
            ++at.begun;
            at.ready = 0;
            int step = at.first;
            for (const tutti::step& line : mine.plan.round(round)) {
                at.ready += is_transfer(line) && mine.done[static_cast<std::size_t>(step)] > at.begun;
                ++step;
            }
            if (takes_time) {
                mine.works_from = std::max(now_, mine.works_from) + at.work * slice_bytes_ / over_.reduce_bandwidth;
                happen(mine.works_from, happening::applied, round, who);
            } else {
                ++at.ended;
                any = true;
            }
        }
        return any;
    }

    const roles& parts_;
    const long slices_;
    const long segment_;
    const network over_;
    const double slice_bytes_;  // of one block
    std::vector<player> players_;
    std::priority_queue<incident, std::vector<incident>, std::greater<>> queue_;
    double now_ = 0;
    std::uint32_t depth_ = 0;
};

}  // namespace

simulated simulate(int size, const plan_builder& build, double vector_bytes, const network& over, const simulate_options& how) {
    simulated made;
    const std::optional<roles> parts = roles_of(size, build, how.merged, how.looking);
    if (!parts) {
        made.refused = "the plans of " + std::to_string(size) + " ranks have too many steps or pairs to be looked at";
        return made;
    }
    const double block_bytes = vector_bytes / parts->whole, longest = block_bytes * parts->largest_transfer;
    long messages = 0;
    for (const role& each : parts->all) messages += each.transfers;
    made.slices = static_cast<int>(std::clamp(std::ceil(longest / how.slice_bytes), 1.0, 1e9));
    made.roles = static_cast<int>(parts->all.size());
    made.transfers = messages / 2 * made.slices;
    if (made.transfers > how.transfers) {
        made.refused =
            std::to_string(made.transfers) + " transfers of " + std::to_string(made.roles) + " unlike ranks are too many to simulate";
        if (messages / 2 <= how.transfers)
            made.coarser_slice_bytes = std::exp2(std::ceil(std::log2(longest / static_cast<double>(how.transfers / (messages / 2)))));
        return made;
    }
    simulation world(*parts, build, block_bytes, made.slices, how.segment, over);
    world.run();
    made.seconds = world.ended();
    made.refused = world.stuck();
    return made;
}

}  // namespace tutti
