#include <tutti/asio.hpp>
#include <tutti/detail/timer.hpp>
#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>

#include "runtime/asio.hpp"
#include "runtime/dependent.hpp"
#include "runtime/progress_ticket.hpp"
#include "support/descriptors.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<> nap(duration length) { co_await sleep_for(length); }

task<int> answer_after(duration length) {
    co_await sleep_for(length);
    co_return 42;
}
task<int> fail() {
    co_await yield();
    throw std::runtime_error("it fails");
}
asio::awaitable<void> await_task(event_loop& loop, int& result) {
    result = co_await async_run(loop, answer_after(1ms), asio::use_awaitable);
}

task<> work_for_a_while(event_loop& mine, int& ran) {
    CHECK(&(co_await this_loop) == &mine);
    for (int i = 0; i < 200; ++i) {
        co_await yield();
        CHECK(mine.here());
    }
    co_await sleep_for(2ms);
    try {
        co_await with_deadline(nap(1h), 2ms);
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);
        ++ran;
    }
}

task<> take_some_turns(int count) {
    for (int turn = 0; turn < count; ++turn) co_await yield();
}

/// Says when it is destroyed.
class last_words {
public:
    last_words(std::vector<std::string>& told, std::string name) : told_(&told), name_(std::move(name)) {}
    last_words(last_words&& other) noexcept : told_(std::exchange(other.told_, nullptr)), name_(std::move(other.name_)) {}
    ~last_words() {
        if (told_) told_->push_back(name_);
    }
    std::vector<std::string>& told() { return *told_; }

private:
    std::vector<std::string>* told_;
    std::string name_;
};

task<> serve_until_destroyed(last_words& parameter) {
    const last_words mine(parameter.told(), "child");
    co_await sleep_for(1h);
}
task<> session_with_child(scope& nursery, last_words parameter) {
    nursery.start(serve_until_destroyed(parameter));
    co_await sleep_for(1h);
}

task<> tell(std::promise<int>& result, int& ran, event_loop& loop) {
    co_await when_all(work_for_a_while(loop, ran), work_for_a_while(loop, ran));
    result.set_value(ran);
}

}  // namespace

TEST_CASE("on the thread of its executor a guest says that whoever waits there waits for itself") {
    asio::io_context plain;
    for (const auto& executor : {asio::any_io_executor(plain.get_executor()), asio::any_io_executor(asio::make_strand(plain)),
                                 asio::any_io_executor(asio::make_strand(asio::any_io_executor(plain.get_executor())))}) {
        event_loop loop{host{executor}};
        CHECK_FALSE(detail::waits_for_itself(loop));
        std::optional<bool> inside;
        asio::post(executor, [&] { inside = detail::waits_for_itself(loop); });
        plain.restart();
        plain.poll();
        CHECK(inside == true);
        CHECK_FALSE(detail::waits_for_itself(loop));
    }
}

TEST_CASE("a guest makes progress on the host's io_context, without a thread and without keeping it alive when idle") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    CHECK(executor_of(loop) == asio::any_io_executor(context.get_executor()));
    int ran = 0;
    std::promise<int> result;
    scope nursery(loop);
    nursery.start(tell(result, ran, loop));
    CHECK(ran == 0);
    context.run();
    CHECK(result.get_future().get() == 2);
    CHECK(nursery.running() == 0);
    CHECK_FALSE(loop.here());
}

TEST_CASE("a guest makes progress on a strand of a pool with several threads") {
    asio::thread_pool pool(3);
    auto strand = asio::make_strand(pool);
    std::optional<event_loop> loop;
    std::optional<scope> nursery;
    std::promise<int> result;
    int ran = 0;
    loop.emplace(host{strand});
    asio::post(strand, [&] {
        nursery.emplace(*loop);
        nursery->start(tell(result, ran, *loop));
    });
    CHECK(result.get_future().get() == 2);
    asio::post(strand, [&] {
        asio::post(strand, [&] {  // after the turn that frees the ended task
            nursery.reset();
            loop.reset();
        });
    });
    pool.join();
}

TEST_CASE("four threads post to a guest and nothing is lost") {
    constexpr int per_thread = 5'000;
    struct counter final : detail::runnable {
        void run() noexcept override { ++*count; }
        int* count = nullptr;
    };
    asio::thread_pool pool(2);
    auto strand = asio::make_strand(pool);
    std::optional<event_loop> loop;
    loop.emplace(host{strand});
    int ran = 0;
    std::vector<std::vector<counter>> posts;
    for (int i = 0; i < 4; ++i) posts.emplace_back(per_thread);
    std::vector<std::thread> threads;
    for (auto& mine : posts)
        threads.emplace_back([&] {
            for (auto& each : mine) {
                each.count = &ran;
                loop->post(each);
            }
        });
    for (auto& each : threads) each.join();
    std::promise<void> done;
    struct finisher final : detail::runnable {
        void run() noexcept override { done->set_value(); }
        std::promise<void>* done = nullptr;
    } last;
    last.done = &done;
    loop->post(last);
    done.get_future().get();
    asio::post(strand, [&] { loop.reset(); });
    pool.join();
    CHECK(ran == 4 * per_thread);
}

TEST_CASE("a loop that lacks a descriptor for its sockets says so, and has them when there are some again" * doctest::skip(test::sanitizer_wants_descriptors)) {
    event_loop loop;
    {
        const test::no_descriptors none;
        CHECK_THROWS_WITH_AS(io_of(loop), doctest::Contains("this process has no descriptor left for an event loop: its limit is "),
                             failure);
    }
    const asio::steady_timer timer(io_of(loop));
}

TEST_CASE("a guest loop is not run") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    CHECK_THROWS_AS(loop.run(), failure);
    CHECK_THROWS_AS(run(loop, nap(1s)), failure);
}

TEST_CASE("a host starts tasks with a callback, a std::future or an asio::awaitable") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    int told = 0;
    async_run(loop, answer_after(1ms), [&](std::exception_ptr why, int value) {
        CHECK_FALSE(why);
        told = value;
    });
    async_run(loop, nap(1ms), [&](std::exception_ptr why) { CHECK_FALSE(why); });
    auto later = async_run(loop, answer_after(2ms), asio::use_future);
    auto failing = async_run(loop, fail(), asio::use_future);
    int awaited = 0;
    asio::co_spawn(context, await_task(loop, awaited), asio::detached);
    context.run();
    CHECK(told == 42);
    CHECK(later.get() == 42);
    CHECK_THROWS_WITH_AS(failing.get(), "it fails", std::runtime_error);
    CHECK(awaited == 42);
}

TEST_CASE("asio's cancellation of a handler cancels its task") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    for (const bool at_once : {true, false}) {
        asio::cancellation_signal signal;
        std::exception_ptr why;
        auto handler = [&](std::exception_ptr error) { why = error; };
        async_run(loop, nap(1h), asio::bind_cancellation_slot(signal.slot(), handler));
        if (!at_once) context.poll();
        signal.emit(asio::cancellation_type::terminal);
        context.restart();
        context.run();
        REQUIRE(why);
        CHECK_THROWS_WITH_AS(std::rethrow_exception(why), "the wait was cancelled", failure);
    }
}

TEST_CASE("asio's cancellation may come on the handler's executor while the task ends on another thread, and the handler is waited for") {
    for (int round = 0; round < 200; ++round) {
        asio::io_context mine;
        event_loop loop;
        asio::cancellation_signal signal;
        bool told = false;
        auto handler = asio::bind_executor(mine, [&](std::exception_ptr) { told = true; });
        async_run(loop, take_some_turns(round % 7), asio::bind_cancellation_slot(signal.slot(), handler));
        std::thread other([&loop] { loop.run(); });
        asio::post(mine, [&signal] { signal.emit(asio::cancellation_type::terminal); });
        mine.run();
        loop.stop();
        other.join();
        CHECK(told);
    }
}

TEST_CASE("of a scope that is destroyed unfinished the children go before the body, whose parameters they use") {
    std::vector<std::string> told;
    {
        asio::io_context context;
        event_loop loop{host{context.get_executor()}};
        async_run(loop, with_scope(session_with_child, last_words(told, "parameter")), asio::detached);
        context.poll();
    }
    CHECK(told == std::vector<std::string>{"child", "parameter"});
}

TEST_CASE("a loop with its own io_context takes completion tokens too") {
    event_loop loop;
    async_run(loop, answer_after(1ms), [&](std::exception_ptr, int value) {
        CHECK(value == 42);
        CHECK(loop.here());
        loop.stop();
    });
    loop.run();
}

TEST_CASE("tasks of a host that have not ended are destroyed with their loop, and its handlers are not called") {
    for (const bool begun : {true, false}) {
        asio::io_context context;
        asio::cancellation_signal signal;
        {
            event_loop loop{host{context.get_executor()}};
            auto handler = [](std::exception_ptr) { FAIL("nobody is told"); };
            async_run(loop, nap(1h), asio::bind_cancellation_slot(signal.slot(), handler));
            async_run(loop, nap(1h), handler);
            if (begun) context.poll();
        }
        signal.emit(asio::cancellation_type::terminal);
        context.restart();
        context.run();
    }
}

TEST_CASE("the context of a handler is busy from the call until the handler has run") {
    asio::io_context context, elsewhere;
    event_loop loop{host{context.get_executor()}};
    bool told = false;
    async_run(loop, take_some_turns(1), asio::bind_executor(elsewhere, [&](std::exception_ptr) { told = true; }));
    elsewhere.poll();
    CHECK_FALSE(elsewhere.stopped());
    context.run();
    CHECK_FALSE(told);
    elsewhere.run();
    CHECK(told);
}

TEST_CASE("handlers the host still holds outlive a guest without harm") {
    asio::io_context context;
    struct silent final : detail::timer {
        void run() noexcept override { FAIL("the loop is gone"); }
    } work, later;
    {
        event_loop loop{host{context.get_executor()}};
        loop.post(work);
        loop.start_timer(later, loop.now() + 1h);
    }
    context.run();
    CHECK_FALSE(later.started());
}

TEST_CASE("what lives on a guest ends when its host goes, and the loop does nothing from then on") {
    struct silent final : detail::timer {
        void run() noexcept override { FAIL("nobody runs the loop"); }
    } work, later;
    std::vector<std::string> told;
    asio::cancellation_signal signal;
    std::optional<asio::io_context> context(std::in_place);
    event_loop loop{host{asio::make_strand(*context)}};
    class neighbour final : public detail::dependent {
    public:
        neighbour(event_loop& on, std::vector<std::string>& told) : dependent(on), told_(told) {}

    private:
        void loop_goes() noexcept override { told_.push_back("dependent"); }
        std::vector<std::string>& told_;
    };
    const neighbour one(loop, told), other(loop, told);
    {
        const neighbour gone(loop, told);
    }
    auto handler = [](std::exception_ptr) { FAIL("nobody is told"); };
    async_run(loop, with_scope(session_with_child, last_words(told, "parameter")), asio::bind_cancellation_slot(signal.slot(), handler));
    context->poll();
    context.reset();
    CHECK(told == std::vector<std::string>{"dependent", "dependent", "child", "parameter"});
    loop.post(work);
    loop.start_timer(later, loop.now());
}

TEST_CASE("a host that goes tells all its guests, those of strands, too, and not the guests that have gone before") {
    std::optional<asio::io_context> context(std::in_place);
    std::optional<event_loop> first(std::in_place, host{context->get_executor()}), second(std::in_place, host{asio::make_strand(*context)}),
        third(std::in_place, host{context->get_executor()});
    scope nursery(*third);
    nursery.start(nap(0s));
    for (auto* each : {&*second, &*third}) async_run(*each, nap(1h), asio::detached);
    context->poll();
    first.reset();
    context.reset();
    second.reset();
    third.reset();  // and its scope later
    CHECK(nursery.running() == 0);
}
