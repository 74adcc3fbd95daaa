#include "group/reminder.hpp"

#include "support/ranks.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace reminder_test {

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

TEST_CASE("a rank that has heard from all, and must pass that on over slow links, says so when it closes") {
    const auto body = [](communicator& all) -> task<> {
        auto closing = all.close(1h);
        co_await std::move(closing);
    };
    line_options slow;
    slow.latency = 8s;
    slow.window_bytes = 32;  // half a frame: the second half leaves when the first has arrived
    slow.partial_moves = false;
    context_options patient = hearing(10s);
    patient.rendezvous = patient.connect = patient.handshake = patient.lost_link = 1h;
    heard.clear();
    event_loop loop(event_loop::virtual_time);
    simulated_network network(1, slow);
    test::run_ranks(loop, 3, [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); }, body, patient);
    std::erase_if(heard, [](const std::string& sentence) { return !sentence.starts_with("rank 0: close"); });
    CHECK(fmt::format("{}", fmt::join(heard, "\n")) == "rank 0: close has waited 10 s for ranks 1, 2\n"
                                                       "rank 0: close has waited 20 s for ranks 1, 2\n"
                                                       "rank 0: close has waited 40 s for its last bytes to leave");
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

}  // namespace reminder_test
