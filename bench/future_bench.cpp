// Measures the machinery around an operation, in nanoseconds: awaiting a future that has ended, being resumed on one's own loop, and the
// way from one loop's thread to another's and back. The least of several runs: the machine may be shared.
#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/future.hpp>
#include <tutti/task.hpp>

#include "stopwatch.hpp"

#include <cstdio>
#include <optional>
#include <thread>

namespace {

using namespace tutti;

/// Makes, ends and awaits; making takes the allocation of a state, which collectives do not need.
task<> await_ended(int repeats) {
    for (int i = 0; i < repeats; ++i) {
        auto both = detail::make_future();
        both.second.set();
        co_await both.first;
    }
}

/// The same without awaiting: to be subtracted.
task<> make_ended(int repeats) {
    for (int i = 0; i < repeats; ++i) {
        auto both = detail::make_future();
        both.second.set();
    }
    co_return;
}

/// Ends a future when the loop comes to it.
class ender final : detail::runnable {
public:
    explicit ender(event_loop& where) noexcept : where_(where) {}
    future<> start() {
        auto both = detail::make_future();
        source_.emplace(std::move(both.second));
        where_.post(*this);
        return std::move(both.first);
    }

private:
    void run() noexcept override { source_->set(); }

    event_loop& where_;
    std::optional<detail::future_source<>> source_;
};

task<> await_elsewhere(event_loop& where, int repeats) {
    ender other(where);
    for (int i = 0; i < repeats; ++i) {
        auto next = other.start();
        co_await next;
    }
}

template <class Make>
void measure(const char* name, int repeats, event_loop& loop, Make make) {
    const double best = bench::least_seconds([&] { tutti::run(loop, make(repeats)); }) / repeats;
    std::printf("%-34s %10.1f ns\n", name, best * 1e9);
}

}  // namespace

int main() {
    event_loop mine, other;
    std::thread progress([&] { other.run(); });
    measure("make and end a future", 1'000'000, mine, make_ended);
    measure("make, end and await a future", 1'000'000, mine, await_ended);
    measure("post to one's loop and be resumed", 200'000, mine, [&](int repeats) { return await_elsewhere(mine, repeats); });
    measure("to another thread's loop and back", 20'000, mine, [&](int repeats) { return await_elsewhere(other, repeats); });
    other.stop();
    progress.join();
}
