// A rank is lost in any phase of a collective: all others hear of it soon, at about the same time, and blame no other rank.
#include "runtime/background.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <optional>

namespace death_test {

using namespace tutti;
using namespace std::chrono_literals;

namespace {

struct ending {
    std::optional<failure> why;
    time_point when{};
};

task<> reduce_for_ever(communicator& all, std::vector<ending>& endings) {
    event_loop& loop = co_await this_loop;
    std::vector<float> data(100'000, 1.0f);
    auto& mine = endings[static_cast<std::size_t>(all.rank())];
    try {
        for (;;) co_await all.all_reduce(data, avg);
    } catch (const failure& why) {
        mine.why = why;
        mine.when = loop.now();
    }
}

task<> kill_at(simulated_network& network, rank victim, time_point when) {
    co_await sleep_until(when);
    network.kill(victim);
}

}  // namespace

TEST_CASE("a rank that is lost in any phase is named by all others within a second, at about the same time" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {2, 3, 4, 8})
        for (rank victim = 0; victim < size; ++victim)
            for (const auto& [after, lanes] : {std::pair(20ms, 1), {23ms, 4}, {31ms, 1}, {47ms, 2}}) {
                CAPTURE(size);
                CAPTURE(victim);
                CAPTURE(after.count());
                CAPTURE(lanes);
                context_options options;
                options.lanes = lanes;
                event_loop loop(event_loop::virtual_time);
                line_options line;
                line.partial_moves = false;
                simulated_network network(7, line);
                std::vector<ending> endings(static_cast<std::size_t>(size));
                const time_point when = loop.now() + after;
                background others(loop);
                others.start(kill_at(network, victim, when));
                test::run_ranks(loop, size, [&](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
                                [&](communicator& world) { return reduce_for_ever(world, endings); }, options);
                time_point first = no_deadline, last{};
                for (rank each = 0; each < size; ++each) {
                    if (each == victim) continue;
                    const ending& one = endings[static_cast<std::size_t>(each)];
                    REQUIRE(one.why);
                    CHECK(one.why->code() == error::peer_died);
                    CHECK(one.why->details().root == victim);
                    CHECK(one.when >= when);
                    first = std::min(first, one.when);
                    last = std::max(last, one.when);
                }
                CHECK(last - when < 1s);
                CHECK(last - first < 500ms);
            }
}

}  // namespace death_test
