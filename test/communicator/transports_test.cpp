// Ranks as they are in a program: each with a context and a thread that makes its progress, over TCP, over shared memory, or over the
// transport that is chosen by default.
#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"

#include <fmt/ranges.h>
#include <sys/resource.h>

#include <chrono>
#include <mutex>
#include <random>
#include <thread>

namespace transports_test {

using namespace tutti;
using test::programme;
using test::run_over;
using test::run_over_each;

namespace {

using steady = std::chrono::steady_clock;

task<> sum_a_lot(communicator& world) {
    const std::size_t count = 8 * MiB;  // 32 MiB of floats
    std::vector<float> data(count);
    for (std::size_t index = 0; index < count; ++index) data[index] = static_cast<float>(index % 1000) + static_cast<float>(world.rank());
    co_await world.all_reduce(data, sum);
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < count; ++index) wrong += data[index] == 3 * static_cast<float>(index % 1000) + 3 ? 0 : 1;
    CHECK(wrong == 0);
}

bool computes_until(const future<>& ended) {
    const auto limit = steady::now() + std::chrono::minutes(1);
    while (!ended.ready() && steady::now() < limit) {}
    return ended.ready();
}

task<> spin_for_each(communicator& world) {
    for (int turn = 1; turn <= 100; ++turn) {
        std::vector<int> data(turn % 10 == 0 ? 50'000 : 1, turn + world.rank());
        world.spin(world.all_reduce(data, sum));
        if (data.back() != 2 * turn + 1) FAIL("a sum of ", data.size(), " is ", data.back());
    }
    std::vector<int> mine(1, world.rank());
    std::vector<double> theirs(1);
    bool told = false;
    try {
        if (world.rank() == 0) world.spin(world.all_reduce(mine, sum));
        else world.spin(world.all_reduce(theirs, sum));
    } catch (const failure& why) {
        told = why.code() == error::mismatch;
    }
    CHECK(told);
    CHECK_THROWS_WITH_AS(world.spin(future<>()), "the future is empty: it has been awaited before, or was never given an operation", failure);
    co_return;
}

task<> take_turns(int& turns, const bool& over) {
    while (!over) {
        ++turns;
        co_await sleep_for(std::chrono::microseconds(10));
    }
}

task<> call_again_and_again(communicator& world, int& at_once, bool& over) {
    std::vector<int> data(1, 1);
    const auto limit = steady::now() + std::chrono::minutes(1);
    while (at_once < 5000 && steady::now() < limit) {
        auto summing = world.all_reduce(data, sum);
        at_once += summing.ready() ? 1 : 0;
        co_await std::move(summing);
    }
    over = true;
}

task<> leave_turns_to_others(communicator& world) {
    int turns = 0, at_once = 0;
    bool over = false;
    co_await when_all(take_turns(turns, over), call_again_and_again(world, at_once, over));
    CHECK(at_once == 5000);
    CHECK(turns > 5000 / 300);
}

task<> call_beside(communicator& world) {
    const auto alone = co_await world.split(world.rank(), 0);
    for (int turn = 0; turn < 20; ++turn) {
        std::vector<float> data(1 * MiB, 1);
        auto summing = world.all_reduce(data, sum);
        const auto limit = steady::now() + std::chrono::minutes(1);
        while (!summing.ready() && steady::now() < limit) {
            co_await alone->barrier();
            co_await yield();
        }
        CHECK(summing.ready());
        co_await std::move(summing);
        CHECK(data.back() == static_cast<float>(world.size()));
    }
    co_await alone->close();
}

task<> compute_meanwhile(communicator& world) {
    std::vector<float> data(1 * MiB, 1);
    auto summing = world.all_reduce(data, sum);
    // No await, no call into the library: the thread of the context does the work.
    CHECK(computes_until(summing));
    co_await std::move(summing);
    CHECK(data.back() == static_cast<float>(world.size()));
}

task<> begin_before_the_others(communicator& world, std::atomic<bool>& begun) {
    std::vector<float> data(1 * MiB, 1);
    if (world.rank() == 0) begun = false;  // it was begun over another transport before
    co_await world.barrier();
    if (world.rank() == 0) {
        // The other rank calls only after this call has returned, so it returned without it.
        auto summing = world.all_reduce(data, sum);
        CHECK_FALSE(summing.ready());
        begun = true;
        co_await std::move(summing);
    } else {
        while (!begun) std::this_thread::yield();
        co_await world.all_reduce(data, sum);
    }
    CHECK(data.front() == 2);
}

task<> wait_on_plain_threads(communicator& world) {
    // Futures go to other threads and are waited for there.
    std::vector<std::int32_t> data(1000, world.rank()), more(10, 1);
    bool first_right = false, second_right = false;
    auto first = world.all_reduce(data, sum);
    auto second = world.all_reduce(more, prod);
    test::on_threads(1, [&](int) {
        second.get();
        second_right = more == std::vector<std::int32_t>(10, 1);
        first_right = first.wait_for(std::chrono::minutes(1));
        first.get();
    });
    CHECK(first_right);
    CHECK(second_right);
    CHECK(data == std::vector<std::int32_t>(1000, 3));
    co_return;
}

task<> look_at_routes(communicator& world, const std::string& begin) {
    std::vector<float> from(3 * 100), to(3 * 100);
    co_await world.all_to_all(from, to);
    for (rank each = 0; each < world.size(); ++each) {
        const std::string route = world.route(each);
        CAPTURE(route);
        CHECK((each == world.rank() ? route.empty() : route.starts_with(begin)));
    }
}

task<> look_at_hosts(communicator& world, int ranks_per_host, bool near_in_memory) {
    std::vector<float> from(4 * 100), to(4 * 100);
    co_await world.all_to_all(from, to);
    CHECK(world.hosts() == 2);
    for (rank each = 0; each < world.size(); ++each) {
        const std::string route = world.route(each);
        CAPTURE(route);
        const bool near = each / ranks_per_host == world.rank() / ranks_per_host;
        if (each != world.rank()) CHECK(route.starts_with(near && near_in_memory ? "shm" : "127.0.0.1:"));
    }
}

/// All sizes and steps of a job's usual calls, on memory that need not be copied.
task<> sum_shared(communicator& world) {
    const auto same = [](std::span<const float> one, std::span<const float> other) {
        return test::same_bytes(std::as_bytes(one), std::as_bytes(other));
    };
    for (const std::size_t count : {0u, 1u, 5u, 1000u, 4099u, 100'003u, 1'000'003u}) {
        auto data = world.allocate<float>(count), apart = world.allocate<float>(count);
        auto parts = world.allocate<float>(count * static_cast<std::size_t>(world.size()));
        std::vector<float> plain(count);
        for (std::size_t index = 0; index < count; ++index) plain[index] = data[index] = static_cast<float>(index % 1000) + static_cast<float>(world.rank());
        const std::vector<float> before = plain;
        co_await world.all_reduce(data, apart, sum);
        CHECK(same(before, data));
        co_await world.all_reduce(data, sum);
        co_await world.all_reduce(plain, sum);
        CHECK(same(plain, data));
        CHECK(same(plain, apart));
        co_await world.all_gather(plain, parts);
        for (int each = 0; each < world.size(); ++each)
            CHECK(same(plain, std::span(parts).subspan(count * static_cast<std::size_t>(each), count)));
        // At once the memory may be written again.
        std::fill(data.begin(), data.end(), static_cast<float>(world.rank()));
        co_await world.broadcast(data, world.size() - 1);
        CHECK(std::all_of(data.begin(), data.end(), [&world](float each) { return each == static_cast<float>(world.size() - 1); }));
    }
}

/// While it lives no memory can be shared: files of this process, of memory too, are no longer than this.
class short_files {
public:
    short_files() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit now = before_;
        now.rlim_cur = 64 * KiB;
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    short_files(const short_files&) = delete;
    short_files& operator=(const short_files&) = delete;
    ~short_files() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

std::mutex guard_of_notices;
std::vector<std::string> notices;
void note(const std::string& sentence) {
    const std::lock_guard lock(guard_of_notices);
    notices.push_back(sentence);
}

task<> do_without_sharing(communicator& world) {
    auto data = world.allocate<float>(100'000);
    std::fill(data.begin(), data.end(), 1.0f);
    for (int twice = 0; twice < 2; ++twice) co_await world.all_reduce(data, sum);
    CHECK(std::all_of(data.begin(), data.end(), [](float each) { return each == 4; }));
    CHECK(world.route(1 - world.rank()).starts_with("127.0.0.1:"));
}

using floats = std::vector<float>;

/// Fractions, of which every order has another sum: in place, apart, and in the arena, three times each with other delays. The sums
/// that a rank gets are appended to `told`.
task<> sum_fractions(communicator& world, std::size_t count, std::vector<floats>& told) {
    std::mt19937 random{static_cast<unsigned>(world.rank())};
    floats mine(count), to(count);
    for (float& each : mine) each = std::uniform_real_distribution<float>(-1, 1)(random);
    auto shared = world.allocate<float>(count);
    call_options allocated;
    allocated.allocated = true;
    for (int turn = 0; turn < 3; ++turn) {
        floats data = mine;
        std::copy(mine.begin(), mine.end(), shared.begin());
        co_await sleep_for(std::chrono::microseconds(random() % 300));
        co_await world.all_reduce(data, sum);
        co_await world.all_reduce(mine, to, sum);
        co_await sleep_for(std::chrono::microseconds(random() % 300));
        co_await world.all_reduce(shared, sum, allocated);
        for (const floats& each : {data, to, floats(shared.begin(), shared.end())}) told.push_back(each);
    }
}

}  // namespace

TEST_CASE("sums of fractions have the same bits on all ranks and every time, over every transport") {
    for (const int size : {2, 3, 4})
        for (const std::size_t count : {7u, 1000u, 20'011u, 300'007u})
            for (const auto& each : test::transports) {
                CAPTURE(each.name);
                CAPTURE(size);
                CAPTURE(count);
                std::vector<std::vector<floats>> told(static_cast<std::size_t>(size));
                run_over(each, size,
                         [&](communicator& world) { return sum_fractions(world, count, told[static_cast<std::size_t>(world.rank())]); });
                for (const auto& those : told) CHECK((those == told[0] && those.size() == 9));
                for (std::size_t which = 3; which < told[0].size(); ++which) CHECK((told[0][which] == told[0][which % 3]));
            }
}

TEST_CASE("collectives are right over every transport") {
    for (const int size : {2, 4}) {
        CAPTURE(size);
        const programme all = test::mixed(size, {0, 1, 100, 5000, 100'000}, size);
        run_over_each(size, [&all](communicator& world) { return test::rehearse(world, all); });
        run_over_each(size, [&all](communicator& world) { return test::rehearse_at_once(world, all); });
    }
}

TEST_CASE("collectives are right in memory that ranks of a host share, over every transport, whether the calls say so or not") {
    for (const int size : {2, 3, 4}) {
        CAPTURE(size);
        const programme all = test::mixed(size, {0, 1, 100, 5000, 100'000}, size);
        run_over_each(size, [&all](communicator& world) { return test::rehearse_at_once(world, all, test::memory_kind::arena); });
        run_over_each(size, [&all](communicator& world) { return test::rehearse(world, all, test::memory_kind::told); });
    }
}

TEST_CASE("32 MiB are summed over every transport") { run_over_each(3, sum_a_lot); }

TEST_CASE("memory that ranks of a host share serves like any other, over every transport") {
    for (const int size : {2, 3, 4}) run_over_each(size, sum_shared);
}

TEST_CASE("where no memory can be shared ranks of a host use TCP and memory of their own, and each says why") {
    context_options options;
    options.notice = note;
    {
        const short_files now;
        test::run_ranks_on_threads(2, do_without_sharing, [&options](rank) { return options; });
    }
    const auto told = [](const std::string& beginning) {
        return std::count_if(notices.begin(), notices.end(), [&](const std::string& each) {
            return each.starts_with(beginning) && each.find("File too large") != std::string::npos;
        });
    };
    CAPTURE(fmt::format("{}", fmt::join(notices, "; ")));
    CHECK(told("no shared memory with 127.0.0.1:") > 0);
    CHECK(told("memory is not shared: ") == 2);
}

TEST_CASE("a thread may spin until an operation ends, well or not") { run_over_each(2, spin_for_each); }

TEST_CASE("a call that can end at once has ended when it returns, and its loop has turns for others all the same") {
    run_over({"helped", transport_kind::automatic, 1, true}, 1, leave_turns_to_others);
}

TEST_CASE("a collective ends while its caller makes other calls, which end at once") { run_over_each(2, call_beside); }

TEST_CASE("a collective ends while its caller computes and never yields") { run_over_each(2, compute_meanwhile); }

TEST_CASE("beginning a collective does not wait for the other ranks") {
    std::atomic<bool> begun{false};
    run_over_each(2, [&begun](communicator& world) { return begin_before_the_others(world, begun); });
}

TEST_CASE("futures may be waited for on threads of their own") { run_over_each(3, wait_on_plain_threads); }

TEST_CASE("ranks of one host share memory unless they are told not to, and say so") {
    for (const auto& each : test::transports) {
        CAPTURE(each.name);
        const std::string begin = each.kind == transport_kind::tcp ? "127.0.0.1:" : "shm";
        run_over(each, 3, [&begin](communicator& world) { return look_at_routes(world, begin); });
    }
}

TEST_CASE("ranks that play two hosts share memory within and use TCP between, and collectives are right") {
    const programme all = test::mixed(4, {0, 1, 100, 5000, 100'000}, 5);
    for (const auto& each : {test::over{"auto", transport_kind::automatic}, test::over{"tcp", transport_kind::tcp}}) {
        CAPTURE(each.name);
        const bool near_in_memory = each.kind == transport_kind::automatic;
        run_over(each, 4, [&](communicator& world) { return look_at_hosts(world, 2, near_in_memory); }, 2);
        run_over(each, 4, [&](communicator& world) { return test::rehearse(world, all); }, 2);
        run_over(each, 4, [&](communicator& world) { return test::rehearse_at_once(world, all); }, 2);
    }
    run_over({"auto", transport_kind::automatic}, 4, sum_shared, 2);
}

TEST_CASE("a rank that may share memory only does not join ranks over TCP, and says why") {
    memory_table table;
    std::string told[2];
    std::vector<std::thread> threads;
    for (rank me = 0; me < 2; ++me)
        threads.emplace_back([&, me] {
            context_options options;
            options.transport = me == 0 ? transport_kind::tcp : transport_kind::shm;
            options.rendezvous = std::chrono::seconds(3);
            try {
                context home(options);
                event_loop loop;
                run(loop, test::detail::one_rank(home, me, 2, memory_store(table), wait_on_plain_threads));
            } catch (const std::exception& why) {
                told[me] = why.what();
            }
        });
    for (auto& each : threads) each.join();
    CHECK(told[0].find("rank 1") != std::string::npos);
    CHECK(told[1].find("shares no memory with this host") != std::string::npos);
}

TEST_CASE("ranks may be guests of one loop, over a transport of their own and without a thread of ours") {
    event_loop loop;
    const programme all = test::mixed(3, {0, 1, 5000}, 3);
    test::run_ranks(
        loop, 3, [](event_loop&) { return std::unique_ptr<transport>(); },
        [&all](communicator& world) { return test::rehearse(world, all); });
}

}  // namespace transports_test
