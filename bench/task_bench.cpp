// Measures coroutines, in nanoseconds: a task made and awaited, a chain of them, one that is resumed by its loop, and two at once. The
// least of several runs: the machine may be shared.
#include <tutti/event_loop.hpp>
#include <tutti/task.hpp>
#include <tutti/when_all.hpp>

#include "stopwatch.hpp"

#include <cstdio>

namespace {

using namespace tutti;

task<int> leaf(int value) { co_return value; }

task<int> chain(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await chain(depth - 1);
}

task<> await_leaves(int repeats) {
    for (int i = 0; i < repeats; ++i) co_await leaf(i);
}

constexpr int depth = 100;

task<> await_chains(int repeats) {
    for (int i = 0; i < repeats; i += depth) co_await chain(depth);
}

task<> make_only(int repeats) {
    for (int i = 0; i < repeats; ++i) const auto never_started = leaf(i);
    co_return;
}

task<> await_pairs(int repeats) {
    for (int i = 0; i < repeats; ++i) {
        auto both = when_all(leaf(i), leaf(i));
        co_await std::move(both);
    }
}

template <class Make>
void measure(const char* name, int repeats, Make make) {
    event_loop loop;
    const double best = bench::least_seconds([&] { tutti::run(loop, make(repeats)); }) / repeats;
    std::printf("%-34s %10.1f ns\n", name, best * 1e9);
}

}  // namespace

int main() {
    measure("make a task", 1'000'000, make_only);
    measure("make and await a task", 1'000'000, await_leaves);
    measure("the same, 100 deep", 1'000'000, await_chains);
    measure("make and await two by when_all", 200'000, await_pairs);
}
