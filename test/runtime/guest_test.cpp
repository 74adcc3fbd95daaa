#include <tutti/asio.hpp>
#include <tutti/error.hpp>
#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>

#include "runtime/asio.hpp"
#include "runtime/event.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <future>
#include <optional>
#include <thread>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<> nap(duration length) { co_await sleep_for(length); }

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

task<> tell(std::promise<int>& result, int& ran, event_loop& loop) {
    co_await when_all(work_for_a_while(loop, ran), work_for_a_while(loop, ran));
    result.set_value(ran);
}

}  // namespace

TEST_CASE("a guest makes progress on the host's io_context, without a thread and without keeping it alive when idle") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    CHECK(executor_of(loop) == asio::any_io_executor(context.get_executor()));
    CHECK(io_context_of(loop) == nullptr);
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
