#include "schedule/answers.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tutti {

namespace {

/// Which steps use a block, in the current round and in the next later round that uses it. The caller goes from the last round to the first.
class block_users {
public:
    explicit block_users(const schedule& plan) {
        for (const step& each : plan.steps()) {
            make_room(each.here);
            if (each.what == action::copy) make_room(each.from);
        }
    }

    void begin_round() noexcept {
        for (block* each : used_) {
            each->later = each->here == 1 ? each->first : none;
            each->here = 0;
        }
        used_.clear();
    }
    void use(const step& by, int number) {
        use(by.here, number);
        if (by.what == action::copy) use(by.from, number);
    }
    /// Returns the step that uses all of `some` next, if it is alone in its round and at most one step of this round uses `some`; else negative.
    int next(const blocks& some) noexcept {
        const block first = of(some)[0];
        for (const block& each : of(some))
            if (each.here > 1 || each.later != first.later) return none;
        return first.later;
    }

private:
    static constexpr int none = -1;
    struct block {
        int later = none;               // the one step of the next round that uses the block; none also when there are several
        int first = none, last = none;  // steps of this round
        int here = 0;                   // the number of them
    };

    static std::size_t place(space where) noexcept { return static_cast<std::size_t>(where); }
    std::span<block> of(const blocks& some) noexcept {
        return std::span(blocks_[place(some.where)]).subspan(static_cast<std::size_t>(some.first), static_cast<std::size_t>(some.count));
    }
    void make_room(const blocks& some) {
        auto& all = blocks_[place(some.where)];
        all.resize(std::max(all.size(), static_cast<std::size_t>(some.first + some.count)));
    }
    void use(const blocks& some, int number) {
        for (block& each : of(some)) {
            if (each.here > 0 && each.last == number) continue;  // a copy may name a block twice
            each.last = number;
            if (each.here++ > 0) continue;
            each.first = number;
            used_.push_back(&each);
        }
    }

    std::array<std::vector<block>, 3> blocks_;  // by space
    std::vector<block*> used_;                  // in this round
};

}  // namespace

answers::answers(const schedule& plan) : plan_(plan), answer_(plan.steps().size(), -1) {
    block_users users(plan);
    for (int round = plan.rounds() - 1; round >= 0; --round) {
        const auto steps = plan.round(round);
        users.begin_round();
        for (const step& each : steps) users.use(each, static_cast<int>(index(each)));
        for (const step& each : steps) {
            const int next = each.what == action::send ? users.next(each.here) : -1;
            if (next < 0) continue;
            const step& found = plan.steps()[static_cast<std::size_t>(next)];
            if (found.what == action::recv && found.peer == each.peer && found.here == each.here) answer_[index(each)] = next;
        }
    }
}

const step* answers::to(const step& sent) const noexcept {
    const int found = answer_[index(sent)];
    return found < 0 ? nullptr : &plan_.steps()[static_cast<std::size_t>(found)];
}

const step* returning(const schedule& plan, int round, const step& reduced) noexcept {
    for (int later = round + 1; later < plan.rounds(); ++later) {
        const auto steps = plan.round(later);
        for (const step& each : steps)
            if (each.what == action::send && each.peer == reduced.peer && each.here == reduced.here) return &each;
        // After the sends, because a round sends before it applies what it received.
        for (const step& each : steps)
            if (each.what != action::send && intersect(each.here, reduced.here)) return nullptr;
    }
    return nullptr;
}

}  // namespace tutti
