#include <tutti/detail/future_source.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/future.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

using namespace tutti;
using detail::make_future;

namespace {

const failure lost_peer(error::peer_died, "peer 1 is gone");

template <class T>
error code_of(future<T>& what) {
    try {
        what.get();
    } catch (const failure& why) {
        return static_cast<error>(why.code().value());
    }
    return error{};
}

/// Runs a function on a loop.
template <class Function>
class errand final : public detail::runnable {
public:
    explicit errand(Function what) : what_(std::move(what)) {}

private:
    void run() noexcept override { what_(); }
    Function what_;
};

}  // namespace

TEST_CASE("a function that takes a value is called with it, and what it returns is another future's") {
    auto [f, source] = make_future<int>();
    future<std::string> text =
        f.then([](int value) { return std::to_string(value); }).then([](std::string digits) { return digits + "!"; });
    CHECK_FALSE(f.valid());
    CHECK_FALSE(text.ready());
    source.set(42);
    CHECK(text.get() == "42!");

    auto nothing = make_future<>();
    int calls = 0;
    future<> called = nothing.first.then([&] { ++calls; });
    nothing.second.set();
    called.get();
    CHECK(calls == 1);

    auto only = make_future<std::unique_ptr<int>>();
    only.second.set(std::make_unique<int>(7));
    CHECK(*only.first.then([](std::unique_ptr<int> moved) { return moved; }).get() == 7);  // it has ended already
}

TEST_CASE("a failure passes by a function that takes a value, and is given to one that takes a result") {
    auto [f, source] = make_future<int>();
    bool called = false;
    auto other = f.then([&](int) { called = true; });
    source.fail(lost_peer);
    CHECK(code_of(other) == error::peer_died);
    CHECK_FALSE(called);

    auto second = make_future<>();
    auto seen = second.first.then([](result<> end) { return static_cast<error>(end.failure().code().value()); });
    second.second.fail(lost_peer);
    CHECK(seen.get() == error::peer_died);
}

TEST_CASE("what the function throws is the other future's failure") {
    const auto after = [](auto function) {
        auto made = make_future<>();
        auto other = made.first.then(std::move(function));
        made.second.set();
        return code_of(other);
    };
    CHECK(after([] { throw lost_peer; }) == error::peer_died);
    CHECK(after([] { throw std::runtime_error("a mistake"); }) == error::aborted);
    CHECK(after([] { throw 1; }) == error::aborted);
}

TEST_CASE("the function of an empty future hears that it is empty") {
    future<> empty;
    CHECK(empty.then([](result<> end) { return end.failure().code() == error::invalid_argument; }).get());
}

TEST_CASE("the function runs on the loop that called then, or else on the thread that ends the operation") {
    event_loop loop(event_loop::virtual_time);
    auto [f, source] = make_future<>();
    future<> other;
    event_loop* where = nullptr;
    errand start([&, &mine = f] { other = mine.then([&] { where = event_loop::current(); }); });
    loop.post(start);
    loop.run();
    source.set();
    CHECK_FALSE(other.ready());
    loop.run();
    CHECK(other.ready());
    CHECK(where == &loop);

    auto outside = make_future<>();
    std::thread::id ran_on;
    auto ended = outside.first.then([&] { ran_on = std::this_thread::get_id(); });
    std::thread finisher([&mine = outside.second] { mine.set(); });
    const auto expected = finisher.get_id();
    finisher.join();
    CHECK(ran_on == expected);
}

TEST_CASE("cancelling the other future cancels the operation") {
    detail::future_source<>* source = nullptr;
    auto pair = make_future<>([&] { source->fail(failure(error::cancelled, "as you wish")); });
    source = &pair.second;
    bool called = false;
    auto other = pair.first.then([&] { called = true; });
    other.cancel();
    CHECK(code_of(other) == error::cancelled);
    CHECK_FALSE(called);
}

TEST_CASE("dropping the other future drops the operation, and the function goes without being called") {
    int cancels = 0;
    bool called = false;
    auto watched = std::make_shared<int>(1);
    auto pair = make_future<>([&] { ++cancels; });
    {
        const auto other = pair.first.then([&, watched](result<>) { called = true; });
        CHECK(watched.use_count() == 2);
    }
    CHECK(cancels == 1);
    CHECK(watched.use_count() == 1);
    pair.second.set();  // the one who ends it was not quick enough
    CHECK_FALSE(called);

    event_loop loop(event_loop::virtual_time);
    auto late = make_future<>();
    future<> other;
    errand start([&] { other = late.first.then([&, watched] { called = true; }); });
    loop.post(start);
    loop.run();
    late.second.set();  // the call is on its way
    other = {};
    CHECK(watched.use_count() == 1);
    loop.run();
    CHECK_FALSE(called);
}

TEST_CASE("then takes only what can be called with the value, the result, or nothing") {
    const auto continues = []<class T, class Function>(future<T>, Function) { return detail::continuation_of<Function, T>; };
    CHECK(continues(future<int>(), [](int) {}));
    CHECK(continues(future<int>(), [](result<int>) {}));
    CHECK_FALSE(continues(future<int>(), [] {}));
    CHECK_FALSE(continues(future<int>(), [](std::string) {}));
    CHECK(continues(future<>(), [] {}));
    CHECK_FALSE(continues(future<>(), [](int) {}));
}
