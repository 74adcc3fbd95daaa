#include "group/reminder.hpp"

#include "support/ranks.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> heard;

context_options hearing(duration stall_warning) {
    context_options options;
    options.stall_warning = stall_warning;
    options.rendezvous = 30s;
    options.notice = [](const std::string& sentence) { heard.push_back(sentence); };
    return options;
}

task<> sleep_while_reminded(duration first, duration length, std::vector<double>& rings) {
    event_loop& loop = co_await this_loop;
    const reminder mine(loop, first, [&rings](double seconds) { rings.push_back(seconds); });
    co_await sleep_for(length);
}

task<> join_late(event_loop& loop, memory_network& network, memory_table& table, rank me, duration late) {
    co_await sleep_for(late);
    context home(loop, std::make_unique<memory_transport>(loop, network), hearing(10s));
    world who;
    who.me = me;
    who.size = 3;
    auto joining = home.join(who, memory_store(table));
    const auto all = co_await std::move(joining);
    auto closing = all->close();
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("a reminder comes after its time, after twice as long, and so on, while it lives") {
    struct row {
        duration first, length;
        std::vector<double> rings;
    };
    const row rows[] = {{1s, 500ms, {}}, {1s, 1500ms, {1}}, {1s, 10s, {1, 2, 4, 8}}, {0s, 100s, {}}};
    for (const auto& [first, length, rings] : rows) {
        event_loop loop(event_loop::virtual_time);
        std::vector<double> told;
        run(loop, sleep_while_reminded(first, length, told));
        CHECK(told == rings);
    }
}

TEST_CASE("a rank that closes says whom it waits for") {
    const auto body = [](communicator& all) -> task<> {
        co_await all.barrier();
        if (all.rank() == 2) co_await sleep_for(25s);
    };
    heard.clear();
    test::run_ranks(3, body, hearing(10s));
    const std::vector<std::string> expected = {
        "rank 0: close has waited 10 s for rank 2", "rank 1: close has waited 10 s for rank 2",
        "rank 0: close has waited 20 s for rank 2", "rank 1: close has waited 20 s for rank 2"};
    CHECK(heard == expected);
}

TEST_CASE("a rank in a collective says whom it waits for") {
    const auto body = [](communicator& all) -> task<> {
        if (all.rank() == 1) co_await sleep_for(15s);
        std::vector<float> numbers(100);
        call_options labelled;
        labelled.label = "loss";
        co_await all.all_reduce(numbers, sum, labelled);
    };
    heard.clear();
    test::run_ranks(2, body, hearing(10s));
    CHECK(heard == std::vector<std::string>{"rank 0: all_reduce f32 sum count 100 #1 'loss' has waited 10 s for rank 1"});
}

TEST_CASE("ranks that join say whom they wait for") {
    heard.clear();
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    run(loop, when_all(join_late(loop, network, table, 0, 0s), join_late(loop, network, table, 1, 0s), join_late(loop, network, table, 2, 15s)));
    CHECK(heard == std::vector<std::string>{"rank 0: join has waited 10 s for rank 2",
                                            "rank 1: join has waited 10 s for rank 0, which has not said who the members are"});
}
