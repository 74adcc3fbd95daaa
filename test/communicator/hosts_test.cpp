// Ranks that play several hosts on one: what they know of them, what they choose, and whether the results are right.
#include "communicator/rehearsal.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

namespace hosts_test {

using namespace tutti;
using test::programme;

namespace {

/// A number for each rank.
using numbering = std::vector<int>;

int ranks_of(const numbering& numbers) { return static_cast<int>(numbers.size()); }

/// Between hosts everything is dear; the costs of rank 0 count.
context_options playing(const numbering& numbers, rank me, std::size_t slice_bytes = 256 * KiB, std::size_t cache_bytes = 0) {
    context_options options;
    options.cache_bytes = cache_bytes;
    options.host = numbers[static_cast<std::size_t>(me)];
    options.slice_bytes = slice_bytes;
    options.small_bytes = 1000;
    options.costs.emplace();
    options.costs->far_round = 1e-3;
    options.costs->far_byte = 1e-7;
    return options;
}

void run_on(const numbering& numbers, const test::rank_body& body, std::size_t slice_bytes = 256 * KiB, std::size_t cache_bytes = 0) {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    test::run_ranks(
        loop, ranks_of(numbers), [&network](event_loop& on) { return std::make_unique<memory_transport>(on, network); }, body,
        [&](rank me) { return playing(numbers, me, slice_bytes, cache_bytes); });
}

task<> count_hosts(communicator& world, int expected) {
    CHECK(world.hosts() == expected);
    co_return;
}

/// Ranks 0, 1, 2 are on a host, 3 and 4 on another.
task<> count_hosts_of_children(communicator& world) {
    CHECK(world.hosts() == 2);
    auto by_host = world.split(world.rank() < 3 ? 0 : 1, 0);
    const auto near = co_await std::move(by_host);
    CHECK(near->hosts() == 1);
    auto by_parity = world.split(world.rank() % 2, -world.rank());
    const auto across = co_await std::move(by_parity);
    CHECK(across->hosts() == 2);
    // 4, 2, 0 and 3, 1: the first rank's host comes first whatever its number was.
    std::vector<int> data{1};
    co_await across->all_reduce(data, sum);
    CHECK(data[0] == across->size());
    co_await near->close();
    co_await across->close();
}

struct choices {
    std::vector<std::string> all;  // by rank
};

std::string named(engine& of) {
    std::string names;
    for (const collective kind :
         {collective::all_reduce, collective::broadcast, collective::reduce, collective::all_gather, collective::barrier})
        for (const std::size_t bytes : {std::size_t{4}, 64 * KiB, 16 * MiB})
            names += std::string(name(kind)) + " " + std::string(of.chosen(kind, bytes).name) + "\n";
    return names;
}

task<> choose(context& home, rank me, int size, std::shared_ptr<store> meeting, choices& made) {
    auto joining = home.join(test::world_of(me, size), std::move(meeting));
    const auto joined = co_await std::move(joining);
    made.all.push_back(named(home.inner().groups().back()->engine()));
    auto closing = joined->close();
    co_await std::move(closing);
}

choices choices_on(const numbering& numbers) {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    choices made;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> ranks;
    for (rank me = 0; me < ranks_of(numbers); ++me) {
        homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network), playing(numbers, me)));
        ranks.push_back(choose(*homes.back(), me, ranks_of(numbers), memory_store(table), made));
    }
    run(loop, when_all(std::move(ranks)));
    return made;
}

}  // namespace

TEST_CASE("ranks know how many hosts they are on, and children of a split know it too") {
    run_on({0, 0, 0}, [](communicator& world) { return count_hosts(world, 1); });
    run_on({7}, [](communicator& world) { return count_hosts(world, 1); });
    run_on({5, 0, 5, 0}, [](communicator& world) { return count_hosts(world, 2); });
    run_on({1, 2, 3}, [](communicator& world) { return count_hosts(world, 3); });
    run_on({0, 0, 0, 9, 9}, count_hosts_of_children);
}

TEST_CASE("all ranks choose alike, and what combines within hosts only where there are several of several ranks") {
    for (const numbering& numbers :
         {numbering{0, 0, 0, 1, 1, 1}, numbering{1, 0, 0, 1, 2}, numbering{0, 0, 0, 1}, numbering{0, 1, 2}, numbering{3, 3, 3}}) {
        const choices made = choices_on(numbers);
        REQUIRE(made.all.size() == numbers.size());
        for (const std::string& each : made.all) CHECK(each == made.all[0]);
        CAPTURE(made.all[0]);
        CHECK((made.all[0].find("leaders") != std::string::npos) == host_map(numbers).layered());
        CHECK((made.all[0].find("all_reduce parts") != std::string::npos) == host_map(numbers).even());
    }
}

TEST_CASE("every collective gives the serial result on two hosts and more, even and uneven, in a row and in turns" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const numbering& numbers : {numbering{0, 0, 1, 1}, numbering{0, 1, 0, 1, 0, 1}, numbering{0, 0, 0, 0, 1, 1, 1, 1},
                                     numbering{0, 0, 0, 1, 1}, numbering{2, 1, 1, 0, 2, 1, 1}}) {
        const int size = ranks_of(numbers);
        for (const std::size_t slice_bytes : {std::size_t{64}, 256 * KiB}) {
            // Each turn another operator, type and root.
            for (int turn = 0; turn < 48; turn += test::sanitized ? 12 : 3) {
                CAPTURE(size);
                CAPTURE(slice_bytes);
                CAPTURE(turn);
                const programme all = test::mixed(size, {0, 1, 17, 1009}, turn);
                run_on(
                    numbers, [&all](communicator& world) { return test::rehearse(world, all); }, slice_bytes);
            }
        }
        const programme large = test::mixed(size, {50'021}, 1);
        const programme at_once = test::mixed(size, {0, 1, 100, 3001}, 2);
        for (const std::size_t cache_bytes : {0u, 1u}) {  // as usual; all results are too long for the caches
            CAPTURE(cache_bytes);
            run_on(
                numbers, [&large](communicator& world) { return test::rehearse(world, large); }, 4 * KiB, cache_bytes);
            run_on(
                numbers, [&at_once](communicator& world) { return test::rehearse_at_once(world, at_once); }, 256, cache_bytes);
        }
    }
}

}  // namespace hosts_test
