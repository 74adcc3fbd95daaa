// The checking mode: right programs do what they did, and mistakes are told where and by whom.
#include "rehearsal.hpp"
#include "support/failures.hpp"
#include "support/rank_threads.hpp"
#include "support/ranks.hpp"

#include <tutti/communicator_store.hpp>

#include <algorithm>
#include <mutex>
#include <span>
#include <thread>

namespace checking_test {

using namespace tutti;
using namespace tutti::test;

namespace {

std::mutex notices_guard;
std::vector<std::string> notices;

void note(const std::string& sentence) {
    const std::lock_guard lock(notices_guard);
    notices.push_back(sentence);
}

context_options checking() {
    context_options options = slices_of(1024);
    options.check = true;
    options.notice = note;
    notices.clear();
    return options;
}

/// The memory that a mistake of rank 1 touches.
struct buffers_of_rank {
    std::vector<int> one = std::vector<int>(1000, 1), other = std::vector<int>(3000, 2);
};
using mistake = void (*)(communicator&, buffers_of_rank&, std::vector<future<>>&);

task<> make(communicator& world, mistake wrong, std::vector<failure>& told) {
    co_await world.barrier();  // else the failure may come while a rank still joins
    buffers_of_rank mine;
    std::vector<future<>> called;
    wrong(world, mine, called);
    try {
        for (auto& each : called) co_await std::move(each);
        co_await world.watch();
    } catch (const failure& why) {
        told.push_back(why);
    }
}

std::vector<failure> told_of(mistake wrong) {
    std::vector<failure> told;
    run_ranks(2, [&](communicator& world) { return make(world, wrong, told); }, checking());
    return told;
}

struct row {
    const char* name;
    mistake wrong;
    const char* says;
};

void check_mistakes(std::span<const row> rows) {
    for (const row& each : rows) {
        CAPTURE(each.name);
        const auto told = told_of(each.wrong);
        REQUIRE(told.size() == 2);
        for (const failure& why : told) {
            CHECK(why.code() == error::invalid_argument);
            CHECK(why.details().cause == each.says);
            CHECK(why.details().root == 1);
        }
    }
}

task<> exchange_all(communicator& world) {
    const rank other = 1 - world.rank();
    std::vector<int> sent(500, world.rank()), got(500), more(300);
    const std::vector<int> again(300, world.rank());
    received told;
    co_await world.exchange(send_to(sent, other), send_to(sent, other, 1), recv_from(got, other, 0, &told), send_to(again, other, 2),
                            recv_from(more, other, 2));
    CHECK(got == std::vector<int>(500, other));
    CHECK(more == std::vector<int>(300, other));
    CHECK(told.count == 500);
    CHECK((co_await world.recv(got, other, 1)).count == 500);
}

task<> reduce_lists(communicator& world) {
    std::vector<float> one(300, 1), other(5, 2);
    std::vector<float> none;
    co_await world.all_reduce(buffers(one, none, other), sum);
    CHECK(one == std::vector<float>(300, static_cast<float>(world.size())));
    CHECK(other == std::vector<float>(5, 2 * static_cast<float>(world.size())));
}

task<> end_early(communicator& world, bool drops, failures& told) {
    co_await world.barrier();
    std::vector<int> data(5000);
    if (world.rank() == 1) {
        auto called = world.all_reduce(data, sum);
        if (drops) called = {};
        else called.cancel();
        if (!drops) CHECK((co_await as_result(std::move(called))).failure().code() == error::cancelled);
    }
    const auto ended = co_await as_result(world.watch());
    told[static_cast<std::size_t>(world.rank())] = ended.failure();
}

task<> call_in_threads(communicator& world, failures& told) {
    const auto call = [&world] {
        try {
            for (;;) world.barrier().get();
        } catch (const failure&) {
            // It was found.
        }
    };
    std::thread one(call), other(call);
    const auto ended = co_await as_result(world.watch());
    one.join();
    other.join();
    told[static_cast<std::size_t>(world.rank())] = ended.failure();
}

}  // namespace

TEST_CASE("calls that are right end as they do without it") {
    for (const int size : {1, 2, 3, 5})
        for (int turn = 0; turn < 6; ++turn) {
            const programme all = mixed(size, {0, 1, 7, 2000}, turn);
            run_ranks(size, [&](communicator& world) { return rehearse(world, all); }, checking());
            run_ranks(size, [&](communicator& world) { return rehearse_at_once(world, all); }, checking());
            CHECK(notices.empty());
        }
    run_ranks(2, exchange_all, checking());
    run_ranks(3, reduce_lists, checking());
    CHECK(notices.empty());
}

TEST_CASE("memory that a call under way uses is not for another that writes, or where the first does") {
    constexpr row rows[] = {
        {"the same vector twice",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_reduce(mine.one, sum));
             if (world.rank() == 1) called.push_back(world.all_reduce(mine.one, sum));
         },
         "rank 1 called all_reduce i32 sum count 1000 on memory that all_reduce i32 sum count 1000 is still using"},
        {"an input that a call writes",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             call_options labelled;
             labelled.label = "rows";
             called.push_back(world.broadcast(std::span(mine.other).first(2000), 0, labelled));
             if (world.rank() == 1) called.push_back(world.all_reduce(std::span(mine.other).subspan(1999, 1), mine.one = {1}, sum));
         },
         "rank 1 called all_reduce i32 sum count 1 on memory that broadcast i32 count 2000 root 0 'rows' is still using"},
        {"a receive into what is sent",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             if (world.rank() == 0) return;
             called.push_back(world.send(mine.other, 0));
             (void)world.recv(mine.other, 0).wait_for(duration{});
         },
         "rank 1 called recv i32 count 3000 from rank 0 tag 0 on memory that send i32 count 3000 to rank 0 tag 0 is still using"},
        {"an exchange of what is reduced",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_reduce(mine.one, sum));
             if (world.rank() == 1) called.push_back(world.exchange(send_to(mine.one, 0)));
         },
         "rank 1 called exchange of 1 messages on memory that all_reduce i32 sum count 1000 is still using"},
    };
    check_mistakes(rows);
}

TEST_CASE("memory that is only read may be in several calls") {
    run_ranks(2, [](communicator& world) -> task<> {
        const std::vector<int> from(100, 1);
        std::vector<int> one(100), other(200);
        auto summed = world.all_reduce(from, one, sum);
        auto gathered = world.all_gather(from, other);
        co_await std::move(summed);
        co_await std::move(gathered);
        CHECK(one == std::vector<int>(100, 2));
        CHECK(other == std::vector<int>(200, 1));
    }, checking());
}

TEST_CASE("a caller that writes to memory of a call under way is found") {
    constexpr row rows[] = {
        {"what is reduced in place",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_reduce(mine.one, sum));
             if (world.rank() == 1) mine.one[999] = 7;
         },
         "memory of all_reduce i32 sum count 1000 was written to on rank 1 while the call was under way"},
        {"an input",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_gather(std::span(mine.one).first(500), std::span(mine.other).first(1000)));
             if (world.rank() == 1) mine.one[0] = 7;
         },
         "memory of all_gather i32 count 500 was written to on rank 1 while the call was under way"},
        {"an output",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_gather(std::span(mine.one).first(500), std::span(mine.other).first(1000)));
             if (world.rank() == 1) mine.other[600] = 7;
         },
         "memory of all_gather i32 count 500 was written to on rank 1 while the call was under way"},
        {"one of a list",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             called.push_back(world.all_reduce(buffers(mine.one, mine.other), sum));
             if (world.rank() == 1) mine.other[0] = 7;
         },
         "memory of all_reduce i32 sum count 4000 in 2 buffers was written to on rank 1 while the call was under way"},
        {"part of an exchange",
         [](communicator& world, buffers_of_rank& mine, std::vector<future<>>& called) {
             const rank other = 1 - world.rank();
             called.push_back(world.exchange(send_to(mine.one, other), recv_from(mine.other, other)));
             if (world.rank() == 1) mine.other[2000] = 7;
         },
         "memory of exchange of 2 messages was written to on rank 1 while the call was under way"},
    };
    check_mistakes(rows);
}

TEST_CASE("calls of collectives from several threads at the same time are found") {
    failures told(2);
    run_ranks_on_threads(2, [&](communicator& world) { return call_in_threads(world, told); }, [options = checking()](rank) { return options; });
    check_each(told, error::invalid_argument, "called barrier on one thread while another was calling barrier");
}

TEST_CASE("futures that nobody awaits, or that are dropped early, are told of") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<int> data{1, 2}, late(3);
        call_options labelled;
        labelled.label = "loss";
        {
            auto forgotten = world.all_reduce(data, sum, labelled);
            while (!forgotten.ready()) co_await yield();
        }
        co_await world.barrier();
        if (world.rank() == 1) (void)world.recv(late, 0);
    }, checking());
    std::sort(notices.begin(), notices.end());
    CHECK(notices == std::vector<std::string>{
        "rank 0: the future of all_reduce i32 sum count 2 'loss' was never awaited: nobody knows whether the call ended well, or before its memory was used again",
        "rank 1: the future of all_reduce i32 sum count 2 'loss' was never awaited: nobody knows whether the call ended well, or before its memory was used again",
        "rank 1: the future of recv i32 count 3 from rank 0 tag 0 was dropped before its end"});
}

TEST_CASE("a sync looks at the end of what was called before it, and what the library calls for itself is no mistake") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<int> data{1, 2};
        auto called = world.all_reduce(data, sum);
        co_await world.sync();
        called = {};
        auto making = store_over(world);
        const std::unique_ptr<store> keys = co_await std::move(making);
        event_loop& loop = co_await this_loop;
        const result<std::int64_t> counted = co_await keys->add("ranks", 1, loop.now() + std::chrono::seconds(10));
        CHECK(counted.has_value());
        const result<> closed = co_await keys->close(loop.now() + std::chrono::seconds(10));
        CHECK(closed.has_value());
    }, checking());
    CHECK(notices == std::vector<std::string>{});
}

TEST_CASE("a call that goes on by `then` hears of its end, and one that is dropped is told of") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<int> data(100'000);
        call_options soon;
        soon.deadline = std::chrono::seconds(1);
        auto late = world.recv(data, 1 - world.rank(), 3, soon).then([](received) {});
        CHECK((co_await as_result(std::move(late))).failure().code() == error::timed_out);
        for (int turn = 0; turn < 10; ++turn) (void)world.recv(data, 1 - world.rank(), 3).then([](received) {});
        co_await world.barrier();
    }, checking());
    for (const std::string& each : notices) CHECK(each.ends_with("was dropped before its end"));
    CHECK(notices.size() == 20);
}

TEST_CASE("places are used on any thread, beside the calls of another") {
    run_ranks_on_threads(2, [](communicator& world) -> task<> {
        constexpr std::size_t calls = 200;
        places mine = world.reserve(calls);
        std::thread other([&] {
            call_options next;
            next.place = &mine;
            for (std::size_t each = 0; each < calls; ++each) world.barrier(next).get();
        });
        std::vector<future<>> plain;
        for (std::size_t each = 0; each < calls; ++each) plain.push_back(world.barrier());
        for (auto& each : plain) co_await std::move(each);
        other.join();
    }, [options = checking()](rank) { return options; });
    CHECK(notices == std::vector<std::string>{});
}

TEST_CASE("what ends because the communicator has failed says nothing more") {
    run_ranks(2, [](communicator& world) -> task<> {
        co_await world.barrier();
        std::vector<int> data(5000), other(5000);
        auto first = world.all_reduce(data, sum);
        auto second = world.all_reduce(other, sum);
        world.abort("enough");
        CHECK(!(co_await as_result(std::move(first))));
    }, checking());
    CHECK(notices.empty());
}

TEST_CASE("a call that is cancelled, or dropped with its task, ends as without it") {
    for (const bool drops : {false, true}) {
        failures told(2);
        run_ranks(2, [&](communicator& world) { return end_early(world, drops, told); }, checking());
        check_each(told, error::cancelled, drops ? "its future was dropped before the end" : "it was cancelled");
    }
}

}  // namespace checking_test
