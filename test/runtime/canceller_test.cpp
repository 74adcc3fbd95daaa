// Asking for the end of an operation that another coroutine awaits.
#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>
#include <tutti/when_all.hpp>

#include "support/forked.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>

using namespace tutti;
using namespace std::chrono_literals;
using detail::make_future;

namespace {

/// An operation that ends when it is asked to.
struct obedient {
    obedient()
        : pair(make_future<>([this] {
              ++asked;
              if (source) std::exchange(source, nullptr)->fail(failure(error::cancelled, "as you wish"));
          })) {}
    std::atomic<int> asked{0};
    std::pair<future<>, detail::future_source<>> pair;
    detail::future_source<>* source = &pair.second;
};

task<error> await(future<> what) {
    try {
        co_await std::move(what);
    } catch (const failure& why) {
        co_return static_cast<error>(why.code().value());
    }
    co_return error{};
}
task<> cancel_after(duration length, canceller what) {
    co_await sleep_for(length);
    what.cancel();
}

}  // namespace

TEST_CASE("a canceller asks for the end while a task awaits the future") {
    event_loop loop(event_loop::virtual_time);
    obedient work;
    const canceller stop = work.pair.first.canceller();
    const auto ended = run(loop, when_all(await(std::move(work.pair.first)), cancel_after(1s, stop)));
    CHECK(std::get<0>(ended) == error::cancelled);
    CHECK(loop.now() == time_point() + 1s);
    stop.cancel();  // too late
    CHECK(work.asked == 1);
}

TEST_CASE("another thread ends what a thread blocks on") {
    obedient work;
    const canceller stop = work.pair.first.canceller();
    std::thread other([copy = stop] { copy.cancel(); });
    CHECK_THROWS_AS(work.pair.first.get(), failure);
    other.join();
    CHECK(work.asked == 1);
}

TEST_CASE("a canceller that has nothing to ask does nothing") {
    canceller none;
    none.cancel();
    future<>().canceller().cancel();
    obedient work;
    canceller first = work.pair.first.canceller();
    canceller second = first;
    none = std::move(first);
    none = second;
    work.source = nullptr;
    work.pair.second.set();
    work.pair.first.get();
    none.cancel();
    second.cancel();
    CHECK(work.asked == 0);
}

TEST_CASE("a canceller may outlive its future and the one who ended it") {
    std::optional<canceller> last;
    {
        auto pair = make_future<int>();
        last = pair.first.canceller();
        pair.second.set(1);
        CHECK(pair.first.get() == 1);
    }
    last->cancel();
    auto dropped = make_future<int>();
    last = dropped.first.canceller();
    dropped.first = {};
    last->cancel();
}

TEST_CASE("in a forked process a canceller leaves the operation alone") {
    obedient work;
    auto stop = std::make_unique<canceller>(work.pair.first.canceller());
    const auto child = test::in_a_fork([&] {
        stop->cancel();
        stop.reset();
        if (work.asked != 0) throw failure(error::aborted, "the operation was asked");
    });
    CHECK(child.err == "");
    CHECK(child.code == 0);
    work.source = nullptr;
    work.pair.second.set();
    work.pair.first.get();
}
