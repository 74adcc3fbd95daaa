// Ranks as they are in a program: each with a context and a thread that makes its progress, over TCP, over shared memory, or over what is
// chosen when nobody says.
#include "communicator/rehearsal.hpp"
#include "support/rank_threads.hpp"

#include <tutti/persistent.hpp>

#include <chrono>
#include <random>
#include <thread>

using namespace tutti;
using test::programme;

namespace {

using steady = std::chrono::steady_clock;

struct row {
    const char* name;
    transport_kind kind;
    int lanes = 1;
    bool helped = false;  // by the rank's loop
    int threads = 1;
};
constexpr row all_kinds[] = {{"auto", transport_kind::automatic},
                             {"tcp", transport_kind::tcp},
                             {"shm", transport_kind::shm},
                             {"tcp, 4 lanes", transport_kind::tcp, 4},
                             {"shm, 3 lanes", transport_kind::shm, 3},
                             {"tcp, helped", transport_kind::tcp, 1, true},
                             {"shm, helped", transport_kind::shm, 1, true},
                             {"tcp, 3 lanes, 2 threads", transport_kind::tcp, 3, false, 2},
                             {"shm, 2 lanes, 2 threads, helped", transport_kind::shm, 2, true, 2},
                             {"auto, 4 lanes, 3 threads", transport_kind::automatic, 4, false, 3},
                             {"auto, 1 lane, 3 threads", transport_kind::automatic, 1, false, 3}};

void run_over(const row& how, int size, const test::rank_body& body, int ranks_per_host = 1 << 20) {
    const auto options = [&](rank me) {
        context_options each;
        each.transport = how.kind;
        each.lanes = how.lanes;
        each.threads = how.threads;
        each.host = me / ranks_per_host;
        return each;
    };
    test::run_ranks_on_threads(size, body, options, how.helped);
}

void run_over_each(int size, const test::rank_body& body) {
    for (const row& each : all_kinds) {
        CAPTURE(each.name);
        run_over(each, size, body);
    }
}

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
    std::thread waits([&] {
        second.get();
        second_right = more == std::vector<std::int32_t>(10, 1);
        first_right = first.wait_for(std::chrono::minutes(1));
        first.get();
    });
    waits.join();
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
    for (const std::size_t count : {0u, 1u, 5u, 1000u, 4099u, 100'003u, 3'000'017u}) {
        auto data = world.allocate<float>(count);
        auto parts = world.allocate<float>(count * static_cast<std::size_t>(world.size()));
        std::vector<float> plain(count);
        for (std::size_t index = 0; index < count; ++index) plain[index] = data[index] = static_cast<float>(index % 1000) + static_cast<float>(world.rank());
        co_await world.all_reduce(data, sum);
        co_await world.all_reduce(plain, sum);
        CHECK(std::equal(plain.begin(), plain.end(), data.begin()));
        co_await world.all_gather(plain, parts);
        for (int each = 0; each < world.size(); ++each)
            CHECK(std::equal(plain.begin(), plain.end(), parts.begin() + static_cast<std::ptrdiff_t>(count) * each));
        // At once the memory may be written again.
        std::fill(data.begin(), data.end(), static_cast<float>(world.rank()));
        co_await world.broadcast(data, world.size() - 1);
        CHECK(std::all_of(data.begin(), data.end(), [&world](float each) { return each == static_cast<float>(world.size() - 1); }));
    }
}

/// From every rank to every rank, itself included, with all under way at once. Long ones in the arena are read where they lie.
task<> exchange_with_all(communicator& among) {
    const auto size = static_cast<std::size_t>(among.size());
    for (const std::size_t count : {1u, 1000u, 200'003u}) {
        auto out = among.allocate<std::int32_t>(count * size), in = among.allocate<std::int32_t>(count * size);
        std::vector<transfer> parts;
        for (rank peer = 0; peer < among.size(); ++peer) {
            const std::size_t first = count * static_cast<std::size_t>(peer);
            std::fill_n(out.begin() + first, count, 100 * among.rank() + peer);
            parts.push_back(recv_from(buffer(std::span(in.data() + first, count)), peer, 5));
            parts.push_back(send_to(buffer(std::span(out.data() + first, count)), peer, 5));
        }
        co_await among.exchange(parts);
        for (rank peer = 0; peer < among.size(); ++peer) {
            const auto* const first = in.begin() + count * static_cast<std::size_t>(peer);
            CHECK(std::all_of(first, first + count, [&](auto each) { return each == 100 * peer + among.rank(); }));
        }
    }
}

task<> pass_on_and_sum(communicator& among) {
    const rank next = (among.rank() + 1) % among.size(), before = (among.rank() + among.size() - 1) % among.size();
    std::vector<int> mine(70'000, among.rank()), theirs(70'000);
    auto sent = among.send(mine, next, 1);
    const received what = co_await among.probe(before, 1);
    auto coming = among.try_recv(theirs, any_source, 1);
    REQUIRE(coming);
    const received got = co_await std::move(*coming);
    CHECK(got == what);
    co_await std::move(sent);
    CHECK(theirs.back() == before);
    persistent summing([&](call_options how) { return among.all_reduce(buffers(mine, theirs), sum, how); });
    for (int turn = 0; turn < 3; ++turn) co_await summing.start();
    int all = among.size() * (among.size() - 1) / 2;
    for (int turn = 1; turn < 3; ++turn) all *= among.size();
    CHECK(mine == std::vector<int>(70'000, all));
    CHECK(theirs == mine);
    co_await among.monitored_barrier();
}

/// A child can what its parent can, while that does the same.
task<> work_beside_children(communicator& world) {
    auto dividing = world.split(world.rank() % 2, -world.rank());
    const auto half = co_await std::move(dividing);
    const programme all = test::mixed(half->size(), {1, 5000}, 3);
    co_await when_all(exchange_with_all(world), exchange_with_all(*half), test::rehearse(*half, all, test::memory_kind::arena));
    co_await when_all(pass_on_and_sum(*half), pass_on_and_sum(world));
    co_await half->close();
}

using floats = std::vector<float>;

/// Fractions, of which every order has another sum: in place, apart, and in the arena, three times each with other delays. What a rank gets
/// is appended to `told`.
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
            for (const row& each : all_kinds) {
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

TEST_CASE("children send, receive, sum lists and meet beside their parent, over every transport") {
    run_over_each(4, work_beside_children);
    run_over({"auto, two hosts", transport_kind::automatic}, 4, work_beside_children, 2);
}

TEST_CASE("32 MiB are summed over every transport") { run_over_each(3, sum_a_lot); }

TEST_CASE("memory that ranks of a host share serves like any other, over every transport") {
    for (const int size : {2, 3, 4}) run_over_each(size, sum_shared);
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
    for (const row& each : all_kinds) {
        CAPTURE(each.name);
        const std::string begin = each.kind == transport_kind::tcp ? "127.0.0.1:" : "shm";
        run_over(each, 3, [&begin](communicator& world) { return look_at_routes(world, begin); });
    }
}

TEST_CASE("ranks that play two hosts share memory within and use TCP between, and collectives are right") {
    const programme all = test::mixed(4, {0, 1, 100, 5000, 100'000}, 5);
    for (const row& each : {row{"auto", transport_kind::automatic}, row{"tcp", transport_kind::tcp}}) {
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
            options.rendezvous = std::chrono::milliseconds(300);
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
