// The thread that ends operations against the threads that await, cancel, drop and block on them. Sanitizers look on.
#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <random>
#include <thread>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

constexpr int batches = 400;
constexpr int batch_size = 256;
constexpr int expected = 42;

/// Ends on finish or on cancel, whichever comes first; counts both ends, and what is still alive.
class contested_state final : public detail::value_state<int> {
public:
    explicit contested_state(std::atomic<int>& alive) : alive_(alive) { ++alive_; }

    bool end() noexcept {
        if (ended_.exchange(true)) return false;
        finish(expected);
        return true;
    }
    void cancel() noexcept override {
        if (!ended_.exchange(true)) finish(failure_);
    }
    void abandon() noexcept override { cancel(); }
    using detail::future_state::finish;
    using detail::value_state<int>::finish;

private:
    void recycle() noexcept override {
        --alive_;
        delete this;
    }

    static inline const failure failure_{error::cancelled, "on request"};
    std::atomic<int>& alive_;
    std::atomic<bool> ended_{false};
};

void pause(std::minstd_rand& random) {
    for (auto n = random() % 1024; n > 0; --n) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Ends each state of a batch at about the time when the consumer works on its future.
class race {
public:
    race() : finisher_([this] { finish_all(); }) {}
    ~race() {
        finisher_.join();
        CHECK(alive_.load() == 0);
    }

    std::vector<future<int>> next_batch() {
        std::vector<future<int>> futures;
        for (int i = 0; i < batch_size; ++i) {
            states_.push_back(new contested_state(alive_));
            futures.emplace_back(*states_.back());
        }
        turn_ = -1;
        filled_.arrive_and_wait();
        return futures;
    }
    /// The consumer begins with its next future.
    void next() noexcept { turn_.fetch_add(1, std::memory_order_relaxed); }
    void end_batch() { emptied_.arrive_and_wait(); }

private:
    void finish_all() {
        std::minstd_rand random(1);
        for (int batch = 0; batch < batches; ++batch) {
            filled_.arrive_and_wait();
            for (int i = 0; i < batch_size; ++i) {
                // Sometimes one too early, to lie in wait for the consumer; spinning, since a yield would come back too late.
                const int turn = i - static_cast<int>(random() % 2);
                for (int spins = 0; turn_.load(std::memory_order_relaxed) < turn; ++spins)
                    if (spins > 100'000) std::this_thread::yield();
                pause(random);
                states_[static_cast<std::size_t>(i)]->end();
                states_[static_cast<std::size_t>(i)]->release();
            }
            states_.clear();
            emptied_.arrive_and_wait();
        }
    }

    std::atomic<int> alive_{0};
    std::atomic<int> turn_{-1};
    std::vector<contested_state*> states_;
    std::barrier<> filled_{2};
    std::barrier<> emptied_{2};
    std::thread finisher_;
};

struct tally {
    int values = 0;
    int cancelled = 0;
    int wrong = 0;

    void count(const result<int>& ended_) {
        auto ended = ended_;
        if (!ended) ++(ended.failure().code() == error::cancelled ? cancelled : wrong);
        else ++(*ended == expected ? values : wrong);
    }
};

struct no_owner final : detail::task_owner {
    void ended(detail::promise_base&) noexcept override {}
};

task<> await_one(future<int>& f, tally& into) {
    auto ended = co_await as_result(f);
    into.count(ended);
}

task<> consume_on_loop(race& ends, std::vector<future<int>>& futures, unsigned seed, tally& into) {
    auto& loop = co_await this_loop;
    std::minstd_rand random(seed);
    no_owner owner;
    for (auto& f : futures) {
        ends.next();
        pause(random);
        switch (random() % 4) {
        case 0: co_await await_one(f, into); break;
        case 1:
            f.cancel();
            co_await await_one(f, into);
            break;
        case 2:
            f = {};
            ++into.cancelled;
            break;
        default: {
            auto destroyed = await_one(f, into);
            const auto before = into.values + into.cancelled;
            destroyed.inner()->start(loop, {}, owner);
            co_await yield();
            pause(random);
            if (into.values + into.cancelled == before) ++into.cancelled;
        }
        }
    }
}

void consume_on_thread(race& ends, std::vector<future<int>>& futures, std::minstd_rand& random, tally& into) {
    for (auto& f : futures) {
        ends.next();
        pause(random);
        switch (random() % 4) {
        case 0: f.cancel(); [[fallthrough]];
        case 1:
            try {
                into.count(f.get());
            } catch (const failure& why) {
                into.count(why);
            }
            break;
        case 2:
            while (!f.wait_for(1us)) pause(random);
            into.count(f.get());
            break;
        default: f = {}; ++into.cancelled;
        }
    }
}

void consume_continued(race& ends, std::vector<future<int>>& futures, std::minstd_rand& random, std::atomic<int>& calls, tally& into) {
    for (auto& f : futures) {
        ends.next();
        pause(random);
        const canceller stop = f.canceller();
        auto other = f.then([&calls](int value) { return ++calls, value; });
        pause(random);
        switch (random() % 3) {
        case 0: stop.cancel(); [[fallthrough]];
        case 1:
            try {
                into.count(other.get());
            } catch (const failure& why) {
                into.count(why);
            }
            break;
        default:
            other = {};
            ++into.cancelled;
            stop.cancel();
        }
    }
}

}  // namespace

TEST_CASE("every await, cancellation, drop and destroyed task on a loop meets exactly one end") {
    tally seen;
    {
        race ends;
        event_loop loop;
        for (int batch = 0; batch < batches; ++batch) {
            auto futures = ends.next_batch();
            run(loop, consume_on_loop(ends, futures, static_cast<unsigned>(batch) + 1, seen));
            futures.clear();
            ends.end_batch();
        }
    }
    CHECK(seen.wrong == 0);
    CHECK(seen.values + seen.cancelled == batches * batch_size);
}

TEST_CASE("every get, wait, cancellation and drop on a thread meets exactly one end") {
    tally seen;
    {
        race ends;
        std::minstd_rand random(2);
        for (int batch = 0; batch < batches; ++batch) {
            auto futures = ends.next_batch();
            consume_on_thread(ends, futures, random, seen);
            futures.clear();
            ends.end_batch();
        }
    }
    CHECK(seen.wrong == 0);
    CHECK(seen.values + seen.cancelled == batches * batch_size);
}

TEST_CASE("every continuation that is awaited, cancelled or dropped meets exactly one end") {
    tally seen;
    std::atomic<int> calls{0};
    {
        race ends;
        std::minstd_rand random(3);
        for (int batch = 0; batch < batches; ++batch) {
            auto futures = ends.next_batch();
            consume_continued(ends, futures, random, calls, seen);
            futures.clear();
            ends.end_batch();
        }
    }
    CHECK(seen.wrong == 0);
    CHECK(seen.values + seen.cancelled == batches * batch_size);
    CHECK(calls >= seen.values);
}
