#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>


#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <thread>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

enum class end { result, cancelled };

task<end> wait_for(event& what) {
    try {
        co_await what.wait();
    } catch (const failure& why) {
        REQUIRE(why.code() == error::cancelled);
        co_return end::cancelled;
    }
    co_return end::result;
}
task<end> sleep_long() {
    try {
        co_await sleep_for(1h);
    } catch (const failure& why) {
        REQUIRE(why.code() == error::cancelled);
        co_return end::cancelled;
    }
    co_return end::result;
}
task<end> yield_often(int times) {
    try {
        for (int i = 0; i < times; ++i) co_await yield();
    } catch (const failure& why) {
        REQUIRE(why.code() == error::cancelled);
        co_return end::cancelled;
    }
    co_return end::result;
}
task<end> nested(event& what) { co_return co_await wait_for(what); }

task<end> request_at(cancel_source& source, duration when, task<end> child) {
    auto asker = [](cancel_source& who, duration after) -> task<> {
        co_await sleep_for(after);
        who.request();
        who.request();
    };
    auto both = co_await when_all(with_cancel(std::move(child), source.token()), asker(source, when));
    co_return std::get<0>(both);
}

task<end> after_the_request(event& what, cancel_source& source) {
    source.request();
    co_return co_await with_cancel(wait_for(what), source.token());
}

task<end> with_both(cancel_source& outer, cancel_source& inner, event& what) {
    auto child = with_cancel(wait_for(what), inner.token());
    co_return co_await with_cancel(std::move(child), outer.token());
}

task<bool> clean_up() {
    co_await sleep_for(1s);  // would throw under a cancelled token
    co_return true;
}
task<bool> protected_clean_up(cancel_source& source) {
    source.request();
    co_return co_await with_cancel(without_cancel(clean_up()), source.token());
}

}  // namespace

TEST_CASE("every wait of the library ends once, with cancelled, when its token is cancelled") {
    event_loop loop(event_loop::virtual_time);
    event never;
    cancel_source source(loop);
    const time_point begin = loop.now();
    SUBCASE("an event") { CHECK(run(loop, request_at(source, 1s, wait_for(never))) == end::cancelled); }
    SUBCASE("a wait below other tasks") { CHECK(run(loop, request_at(source, 1s, nested(never))) == end::cancelled); }
    SUBCASE("a sleep") { CHECK(run(loop, request_at(source, 1s, sleep_long())) == end::cancelled); }
    CHECK(loop.now() - begin == 1s);
}

TEST_CASE("a loop of yields ends when it is cancelled") {
    event_loop loop(event_loop::virtual_time);
    cancel_source source(loop);
    CHECK(run(loop, request_at(source, 0s, yield_often(1'000'000))) == end::cancelled);
}

TEST_CASE("a request after the end changes nothing") {
    event_loop loop(event_loop::virtual_time);
    cancel_source source(loop);
    event set;
    set.set();
    CHECK(run(loop, request_at(source, 1s, wait_for(set))) == end::result);
    CHECK(run(loop, after_the_request(set, source)) == end::result);  // the result is there: it wins
}

TEST_CASE("whoever begins to wait after the request is cancelled at once") {
    event_loop loop(event_loop::virtual_time);
    cancel_source source(loop);
    event never;
    CHECK(run(loop, after_the_request(never, source)) == end::cancelled);
}

TEST_CASE("either of two tokens cancels") {
    event never;
    for (const bool first : {true, false}) {
        event_loop loop(event_loop::virtual_time);
        cancel_source outer(loop), inner(loop);
        (first ? outer : inner).request();
        CHECK(run(loop, with_both(outer, inner, never)) == end::cancelled);
        CHECK(outer.requested() == first);
        CHECK(inner.requested() == !first);
    }
}

TEST_CASE("clean-up can go on under a cancelled token") {
    event_loop loop(event_loop::virtual_time);
    cancel_source source(loop);
    CHECK(run(loop, protected_clean_up(source)));
}

TEST_CASE("a source follows another") {
    cancel_source first, second;
    second.follow(first.token());
    CHECK_FALSE(second.requested());
    first.request();
    CHECK(second.requested());
    cancel_source late;
    late.follow(first.token());
    CHECK(late.requested());
    cancel_source third, fourth;
    fourth.follow(third.token());
    fourth.unfollow();
    third.request();
    CHECK_FALSE(fourth.requested());
}

TEST_CASE("another thread's request ends a wait") {
    event_loop loop;
    event never;
    cancel_source source(loop);
    std::thread other([&] { source.request(); });
    CHECK(run(loop, with_cancel(wait_for(never), source.token())) == end::cancelled);
    other.join();
}

TEST_CASE("a source that dies with its request still on the way takes it back") {
    event_loop loop(event_loop::virtual_time);
    {
        cancel_source source(loop);
        source.request();
        CHECK_FALSE(source.requested());
    }
    loop.run();
}

TEST_CASE("result and cancel racing at every distance end in exactly one of the two") {
    std::mt19937 random(11);
    int results = 0, cancels = 0;
    auto setter = [](event& what, int yields) -> task<> {
        for (int i = 0; i < yields; ++i) co_await yield();
        what.set();
    };
    auto asker = [](cancel_source& source, int yields) -> task<> {
        for (int i = 0; i < yields; ++i) co_await yield();
        source.request();
    };
    for (int i = 0; i < 2'000; ++i) {
        event_loop loop(event_loop::virtual_time);
        event what;
        cancel_source source(loop);
        const int first = static_cast<int>(random() % 6), second = static_cast<int>(random() % 6);
        const auto all = run(loop, when_all(with_cancel(wait_for(what), source.token()), setter(what, first), asker(source, second)));
        (std::get<0>(all) == end::result ? results : cancels) += 1;
        if (first + 1 < second) CHECK(std::get<0>(all) == end::result);
        if (second + 1 < first) CHECK(std::get<0>(all) == end::cancelled);
    }
    CHECK(results > 100);
    CHECK(cancels > 100);
}
