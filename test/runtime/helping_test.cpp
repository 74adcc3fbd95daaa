#include "runtime/loop_state.hpp"
#include "runtime/progress_ticket.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using namespace tutti;

namespace {

/// A loop with a thread of its own, and this thread's loop, which helps it.
struct pair {
    pair() { mine.help(&other); }
    ~pair() {
        mine.help(nullptr);
        other.stop();
        owner.join();
    }
    event_loop other;
    event_loop mine;
    std::thread owner{[this] { other.run(); }};
};

/// Goes to the other loop and back, so many times, and counts whose thread it finds there.
class traveller {
public:
    traveller(event_loop& home, event_loop& abroad, int trips) : home_(home), abroad_(abroad), trips_(trips) {}
    void begin() noexcept { home_.post(at_home_); }

    int by_helper = 0;
    int by_owner = 0;

private:
    void leave() noexcept {
        if (trips_-- == 0) home_.stop();
        else abroad_.post(abroad_work_);
    }
    void work() noexcept {
        CHECK(abroad_.here());
        CHECK_FALSE(home_.here());
        ++(std::this_thread::get_id() == helper_ ? by_helper : by_owner);
        home_.post(at_home_);
    }

    event_loop& home_;
    event_loop& abroad_;
    int trips_;
    const std::thread::id helper_ = std::this_thread::get_id();
    detail::callback<&traveller::leave> at_home_{*this};
    detail::callback<&traveller::work> abroad_work_{*this};
};

struct flag final : detail::runnable {
    void run() noexcept override { raised = true; }
    std::atomic<bool> raised{false};
};

/// Ends a future, and says who did it.
struct ending final : detail::runnable {
    detail::future_source<>* source = nullptr;
    std::thread::id ran_by;
    void run() noexcept override {
        ran_by = std::this_thread::get_id();
        source->set();
    }
};

/// Awaits futures in one turn of a loop, as coroutines do, and counts those for which none would have been suspended.
struct hasty final : detail::runnable {
    enum class obstacle { none, posted, sockets, crowd };

    hasty(pair& where, obstacle what) : both(where), way(what) {}
    void run() noexcept override {
        event_loop::impl& other = both.other.inner();
        both.mine.inner().io_used = way == obstacle::sockets;
        for (int i = 0; i < 400; ++i) {
            auto [waited, source] = detail::make_future<>();
            ending work;
            work.source = &source;
            both.other.post(work);
            auto reference = waited.take_state();
            const detail::future_state& state = *reference.get();
            const bool wanted = other.wanted, ready = way != obstacle::crowd || crowd();
            const detail::future_awaiter<void> await(std::move(reference));
            const bool ended = ready && await.await_ready();
            hastened += ended && work.ran_by == std::this_thread::get_id() ? 1 : 0;  // or the other thread was quicker
            wished += !wanted && other.wanted ? 1 : 0;
            detail::spin_until(both.other, state);
        }
        both.mine.stop();
    }

    pair& both;
    const obstacle way;
    int hastened = 0;
    int wished = 0;  // to run the other loop

private:
    bool crowd() noexcept {
        const detail::progress_ticket there(both.other);
        if (there) both.other.inner().crowded = true;
        return static_cast<bool>(there);
    }
};

}  // namespace

TEST_CASE("a loop with nothing to do runs the one that it helps, and nothing is lost between the two threads") {
    pair both;
    traveller round(both.mine, both.other, 2000);
    round.begin();
    both.mine.run();
    CHECK(round.by_helper > 0);
    CHECK(round.by_helper + round.by_owner == 2000);
}

TEST_CASE("while the helper computes, the loop's own thread takes over") {
    pair both;
    traveller round(both.mine, both.other, 50);
    round.begin();
    both.mine.run();
    for (int turn = 0; turn < 20; ++turn) {
        flag seen;
        both.other.post(seen);
        while (!seen.raised) std::this_thread::yield();  // without giving its loop a turn
    }
}

TEST_CASE("what other threads post to a loop whose helper is away runs at once") {
    pair both;
    traveller round(both.mine, both.other, 50);
    round.begin();
    both.mine.run();
    flag seen;
    std::thread poster([&] { both.other.post(seen); });
    poster.join();
    while (!seen.raised) std::this_thread::yield();
}

TEST_CASE("without a helper a loop is its own thread's alone") {
    pair both;
    both.mine.help(nullptr);
    traveller round(both.mine, both.other, 200);
    round.begin();
    both.mine.run();
    CHECK(round.by_helper == 0);
    CHECK(round.by_owner == 200);
    const detail::progress_ticket none(both.other);
    CHECK_FALSE(static_cast<bool>(none));
}

TEST_CASE("a progress ticket is on the loop while nobody else is") {
    pair both;
    std::atomic<bool> on_it{false};
    struct check final : detail::runnable {
        std::atomic<bool>* busy;
        std::atomic<int> ran{0};
        void run() noexcept override {
            CHECK_FALSE(busy->load());
            ++ran;
        }
    };
    check works[100];
    int posted = 0, shifts = 0;
    for (auto& each : works) {
        traveller round(both.mine, both.other, 3);
        round.begin();
        both.mine.run();
        each.busy = &on_it;
        both.other.post(each);
        ++posted;
        if (const detail::progress_ticket here(both.other); here) {
            on_it = true;
            CHECK(both.other.here());
            ++shifts;
            std::this_thread::yield();
            on_it = false;
        }
    }
    for (auto& each : works)
        while (each.ran == 0) std::this_thread::yield();
    CHECK(posted == 100);
    CHECK(shifts > 0);
}

TEST_CASE("a thread that spins until a future's end runs the loop while it may, and needs nobody else to") {
    for (const bool helped : {true, false}) {
        pair both;
        if (!helped) both.mine.help(nullptr);
        int here = 0;
        for (int turn = 0; turn < 200; ++turn) {
            auto [waited, source] = detail::make_future<>();
            ending work;
            work.source = &source;
            both.other.post(work);
            const auto state = waited.take_state();
            detail::spin_until(both.other, *state.get());
            CHECK(state->done());
            here += work.ran_by == std::this_thread::get_id() ? 1 : 0;
        }
        CHECK((here > 0) == helped);
    }
}

TEST_CASE("who is about to be suspended tries first, where nothing else waits for a turn, and not for ever") {
    using obstacle = hasty::obstacle;
    for (const obstacle way : {obstacle::none, obstacle::posted, obstacle::sockets, obstacle::crowd}) {
        CAPTURE(static_cast<int>(way));
        pair both;
        int hastened = 0;
        for (int turn = 0; turn < 50; ++turn) {
            auto [spun, source] = detail::make_future<>();
            ending work;
            work.source = &source;
            both.other.post(work);
            const auto state = spun.take_state();
            detail::spin_until(both.other, *state.get());  // so the other loop's core is not wanted by anybody else
            hasty asks(both, way);
            flag waits;
            both.mine.post(asks);
            if (way == obstacle::posted) both.mine.post(waits);
            both.mine.run();
            both.mine.withdraw(waits);
            CHECK(asks.hastened <= 256);
            if (way == obstacle::sockets) CHECK(asks.wished == 0);  // its turns would not run the other loop either
            hastened += asks.hastened;
        }
        CHECK((hastened > 0) == (way == obstacle::none));
    }
}

TEST_CASE("calls are begun on a helped loop until the helper's should have a turn, or does not want one") {
    struct calls final : detail::runnable {
        explicit calls(pair& where) : both(where) {}
        void run() noexcept override {
            begun[0] = begin();
            auto [waited, source] = detail::make_future<>();
            ending work;
            work.source = &source;
            both.other.post(work);
            detail::spin_until(both.other, *waited.take_state().get());
            begun[1] = begin();
            both.mine.stop();
        }
        int begin() {
            int count = 0;
            for (int i = 0; i < 1000; ++i) count += detail::progress_ticket(both.other) ? 1 : 0;
            return count;
        }
        pair& both;
        int begun[2]{};
    };
    pair both;
    int before = 0, after = 0;
    for (int turn = 0; turn < 50; ++turn) {
        calls some(both);
        both.mine.post(some);
        both.mine.run();
        CHECK(some.begun[0] <= 256);
        CHECK(some.begun[1] <= 256);
        before += some.begun[0];
        after += some.begun[1];
    }
    CHECK(before > 0);
    CHECK(after > 0);
}

TEST_CASE("one loop helps another once, and virtual time helps nobody") {
    pair both;
    event_loop second, frozen{event_loop::virtual_time};
    second.help(&both.other);
    second.help(nullptr);  // it never did, so the first goes on
    frozen.help(&both.other);
    traveller round(both.mine, both.other, 500);
    round.begin();
    both.mine.run();
    CHECK(round.by_helper > 0);
}
