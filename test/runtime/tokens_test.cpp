#include <tutti/asio.hpp>
#include <tutti/detail/future_source.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

using namespace tutti;
using detail::make_future;
namespace asio = boost::asio;

namespace {

const failure lost_peer(error::peer_died, "peer 1 is gone");

/// Ends what it is given on a thread of its own.
class finisher {
public:
    finisher() : thread_([this] { work(); }) {}
    ~finisher() {
        over_ = true;
        thread_.join();
    }
    future<> issue() {
        auto pair = make_future<>();
        const std::lock_guard lock(mutex_);
        sources_.push_back(std::move(pair.second));
        return std::move(pair.first);
    }

private:
    void work() {
        while (!over_) {
            std::deque<detail::future_source<>> taken;
            {
                const std::lock_guard lock(mutex_);
                taken.swap(sources_);
            }
            for (auto& source : taken) source.set();
            if (taken.empty()) std::this_thread::yield();
        }
    }

    std::atomic<bool> over_{false};
    std::mutex mutex_;
    std::deque<detail::future_source<>> sources_;
    std::thread thread_;
};

using strand = asio::strand<asio::thread_pool::executor_type>;

// Not inlined into the coroutine: clang 16 takes the address of a thread_local once, and uses it again after the thread has changed.
[[gnu::noinline]] bool here(const strand& mine) { return mine.running_in_this_thread(); }

asio::awaitable<int> count_on_strand(finisher& other, strand& mine, int awaits) {
    int right = 0;
    for (int i = 0; i < awaits; ++i) {
        co_await other.issue();
        if (here(mine)) ++right;
    }
    co_return right;
}

asio::awaitable<int> add(future<int> left, future<int> right) {
    const int first = co_await left(asio::use_awaitable);
    auto second = co_await as_result(right);
    co_return first + *second;
}

asio::awaitable<std::string> tell(future<> what) {
    try {
        co_await std::move(what);
    } catch (const failure& why) {
        co_return why.what();
    }
    co_return "nothing";
}

}  // namespace

TEST_CASE("an asio::awaitable on a strand of four threads resumes on its strand after every await") {
    asio::thread_pool pool(4);
    std::deque<asio::any_io_executor>
        held;  // until all threads have ended: ThreadSanitizer does not know the fence behind Asio's last reference
    finisher other;
    std::vector<std::future<int>> counts;
    std::deque<strand> strands;
    for (int i = 0; i < 4; ++i) {
        strands.push_back(asio::make_strand(pool.get_executor()));
        held.emplace_back(strands.back());
        counts.push_back(asio::co_spawn(held.back(), count_on_strand(other, strands.back(), 2000), asio::use_future));
    }
    for (auto& count : counts) CHECK(count.get() == 2000);
    pool.join();
}

TEST_CASE("an asio::awaitable gets values and results") {
    asio::io_context context;
    auto [left, left_source] = make_future<int>();
    auto [right, right_source] = make_future<int>();
    auto added = asio::co_spawn(context, add(std::move(left), std::move(right)), asio::use_future);
    left_source.set(1);
    std::thread other([&source = right_source] { source.set(2); });
    context.run();
    other.join();
    CHECK(added.get() == 3);
}

TEST_CASE("an asio::awaitable gets the failure as an exception") {
    asio::io_context context;
    auto pair = make_future<>();
    auto text = asio::co_spawn(context, tell(std::move(pair.first)), asio::use_future);
    pair.second.fail(lost_peer);
    context.run();
    CHECK(text.get() == lost_peer.what());
}

TEST_CASE("use_future gives a std::future") {
    auto [f, source] = make_future<int>();
    auto got = f(asio::use_future);
    CHECK_FALSE(f.valid());
    source.set(5);
    CHECK(got.get() == 5);
    auto bad = make_future<>();
    auto none = bad.first(asio::use_future);
    bad.second.fail(lost_peer);
    CHECK_THROWS_AS(none.get(), failure);
}

TEST_CASE("a stackful coroutine of Asio waits with its yield_context") {
    asio::io_context context;
    auto good = make_future<int>();
    auto none = make_future<>();
    auto bad = make_future<>();
    int value = 0;
    std::string text;
    asio::spawn(
        context,
        [&](asio::yield_context yield) {
            value = good.first(yield);
            none.first(yield);
            try {
                bad.first(yield);
            } catch (const failure& why) {
                text = why.what();
            }
        },
        asio::detached);
    context.poll();
    good.second.set(6);
    none.second.set();
    bad.second.fail(lost_peer);
    context.run();
    CHECK(value == 6);
    CHECK(text == lost_peer.what());
}

TEST_CASE("a deferred operation starts to wait when it is called") {
    auto [f, source] = make_future<int>();
    auto later = f(asio::deferred);
    int value = 0;
    auto callback = [&](std::exception_ptr why, int got) { value = why ? -1 : got; };
    std::move(later)(callback);
    source.set(7);
    CHECK(value == 7);
}

TEST_CASE("a callback without executor runs on the thread that finishes, or on the loop it was given on") {
    auto pair = make_future<>();
    std::thread::id where;
    pair.first([&](std::exception_ptr) { where = std::this_thread::get_id(); });
    std::thread other([&] { pair.second.set(); });
    const auto expected = other.get_id();
    other.join();
    CHECK(where == expected);

    struct starter final : detail::runnable {
        void run() noexcept override {
            f->operator()([this](std::exception_ptr) { where = event_loop::current(); });
        }
        future<>* f = nullptr;
        event_loop* where = nullptr;
    } start;
    event_loop loop(event_loop::virtual_time);
    auto on_loop = make_future<>();
    start.f = &on_loop.first;
    loop.post(start);
    loop.run();
    on_loop.second.set();
    CHECK(start.where == nullptr);
    loop.run();
    CHECK(start.where == &loop);
}

TEST_CASE("a callback with an executor runs there, keeps its context busy, and never runs inside of the call that starts it") {
    asio::io_context context;
    auto pair = make_future<>();
    pair.second.set();
    bool called = false;
    pair.first(asio::bind_executor(context, [&](std::exception_ptr) { called = true; }));
    CHECK_FALSE(called);
    context.run();
    CHECK(called);

    auto later = make_future<>();
    called = false;
    later.first(asio::bind_executor(context, [&](std::exception_ptr) { called = true; }));
    std::thread other([&] { later.second.set(); });
    context.restart();
    context.run();  // returns only when the handler has run
    CHECK(called);
    other.join();
}

TEST_CASE("the handler's cancellation slot cancels the operation, until it has ended") {
    asio::io_context context;
    asio::cancellation_signal signal;
    int cancels = 0;
    detail::future_source<>* source = nullptr;
    auto pair = make_future<>([&] {
        ++cancels;
        source->fail(failure(error::cancelled, "as you wish"));
    });
    source = &pair.second;
    std::exception_ptr seen;
    pair.first(asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(context, [&](std::exception_ptr why) { seen = why; })));
    signal.emit(asio::cancellation_type::total);
    context.run();
    CHECK(cancels == 1);
    REQUIRE(seen);
    CHECK_THROWS_AS(std::rethrow_exception(seen), failure);
    CHECK_FALSE(signal.slot().has_handler());

    // Without executor the end is delivered inside of the cancellation itself.
    auto direct = make_future<>([&] { source->fail(failure(error::cancelled, "at once")); });
    source = &direct.second;
    seen = nullptr;
    direct.first(asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr why) { seen = why; }));
    signal.emit(asio::cancellation_type::terminal);
    CHECK(seen);
}

namespace {
/// Counts what a handler's memory is asked for.
template <class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(int& now, int& ever) noexcept : live(&now), total(&ever) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : live(other.live), total(other.total) {}
    T* allocate(std::size_t count) {
        ++*live;
        ++*total;
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        --*live;
        std::allocator<T>().deallocate(memory, count);
    }
    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
    int* live;
    int* total;
};
}  // namespace

TEST_CASE("the memory of a waiting handler comes from its allocator and is given back before it runs") {
    asio::io_context context;
    int live = 0;
    int total = 0;
    int live_in_handler = -1;
    auto pair = make_future<>();
    auto handler = [&](std::exception_ptr) { live_in_handler = live; };
    pair.first(asio::bind_executor(context, asio::bind_allocator(counting_allocator<int>(live, total), handler)));
    CHECK(live == 1);
    pair.second.set();
    context.run();
    CHECK(live_in_handler == 0);
    CHECK(live == 0);
    CHECK(total > 0);
}

TEST_CASE("a context that never runs a handler still frees it") {
    auto watched = std::make_shared<int>(1);
    {
        asio::io_context context;
        auto pair = make_future<>();
        pair.first(asio::bind_executor(context, [watched](std::exception_ptr) {}));
        pair.second.set();
        CHECK(watched.use_count() == 2);
    }
    CHECK(watched.use_count() == 1);
}

TEST_CASE("a handler is told that its future is empty") {
    future<> empty;
    std::exception_ptr why;
    empty([&](std::exception_ptr told) { why = told; });
    REQUIRE(why);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(why), doctest::Contains("the future is empty"), failure);
    future<int> none;
    std::error_code code;
    as_result(none)([&](result<int> told) { code = told.failure().code(); });
    CHECK(code == error::invalid_argument);
}

TEST_CASE("an asio::awaitable that awaits an empty future gets the failure as an exception") {
    asio::io_context context;
    auto text = asio::co_spawn(context, tell(future<>()), asio::use_future);
    context.run();
    CHECK(text.get().starts_with("the future is empty"));
}
