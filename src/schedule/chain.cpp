#include "schedule/chain.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <vector>

namespace tutti {

namespace {

class walk {
public:
    walk(std::span<const schedule> plans, const latencies& take, const host_map& hosts)
        : plans_(plans),
          take_(take),
          hosts_(hosts),
          places_(plans.size()),
          channels_(plans.size() * plans.size()) {
        for (std::size_t me = 0; me < plans_.size(); ++me) begin_round(me);
    }

    double seconds() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t me = 0; me < plans_.size(); ++me)
                while (end_round(me)) moved = true;
        }
        double last = 0;
        for (std::size_t me = 0; me < plans_.size(); ++me) {
            TUTTI_CHECK(places_[me].round == plans_[me].rounds(), "a chain is looked for in plans that end");
            last = std::max(last, places_[me].begun);
        }
        return last;
    }

private:
    /// Where a rank is in its plan.
    struct place {
        int round = 0;
        std::size_t step = 0;  // of the round: what those before it receive has come
        double begun = 0, ends = 0;
    };

    /// When the messages from one rank to another were sent, and how many of them have been received.
    struct messages {
        std::vector<double> sent;
        std::size_t received = 0;
    };

    messages& channel(std::size_t from, std::size_t to) { return channels_[from * plans_.size() + to]; }

    void begin_round(std::size_t me) {
        const place& at = places_[me];
        if (at.round == plans_[me].rounds()) return;
        for (const step& one : plans_[me].round(at.round))
            if (one.what == action::send) channel(me, static_cast<std::size_t>(one.peer)).sent.push_back(at.begun);
    }

    /// Goes on to the next round; false when the rank is done, or has to wait.
    bool end_round(std::size_t me) {
        place& at = places_[me];
        if (at.round == plans_[me].rounds()) return false;
        const auto steps = plans_[me].round(at.round);
        for (; at.step < steps.size(); ++at.step) {
            const step& one = steps[at.step];
            if (one.what != action::recv && one.what != action::recv_reduce) continue;
            auto& from = channel(static_cast<std::size_t>(one.peer), me);
            if (from.received == from.sent.size()) return false;
            const bool far = hosts_.host(static_cast<rank>(me)) != hosts_.host(one.peer);
            at.ends = std::max(at.ends, from.sent[from.received++] + (far ? take_.far : take_.near));
        }
        at = {at.round + 1, 0, at.ends, at.ends};
        begin_round(me);
        return true;
    }

    std::span<const schedule> plans_;
    const latencies take_;
    const host_map& hosts_;
    std::vector<place> places_;       // by rank
    std::vector<messages> channels_;  // by sender and receiver
};

}  // namespace

double chain_seconds(std::span<const schedule> plans, const latencies& take, const host_map& hosts) {
    return walk(plans, take, hosts).seconds();
}

}  // namespace tutti
