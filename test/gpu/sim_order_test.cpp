// Random programs of streams and events: whatever the seed, what must come before comes before.
#include "gpu/device.hpp"
#include "gpu/sim/checked_machine.hpp"
#include "support/seeds.hpp"

#include <random>
#include <set>

namespace sim_order_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::device;

namespace {

/// The work of a program, and for each kernel the last one that must have ended before, of every stream.
struct program {
    static constexpr std::size_t streams = 4, events = 5;
    using before = std::array<int, streams>;  // kernels of each stream that must have ended
    std::vector<std::pair<std::size_t, before>> kernels;
    std::vector<std::size_t> order;  // as they ended
};

program::before later(const program::before& one, const program::before& other) {
    program::before made;
    for (std::size_t index = 0; index < made.size(); ++index) made[index] = std::max(one[index], other[index]);
    return made;
}

/// Enqueues random work; a model of a few lines keeps what each event stands for.
void enqueue(sim::machine& machine, device& on, program& what, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<CUstream> streams;
    std::vector<CUevent> events;
    for (std::size_t index = 0; index < program::streams; ++index) streams.push_back(on.stream());
    for (std::size_t index = 0; index < program::events; ++index) events.push_back(on.event());
    std::array<program::before, program::streams> known{};
    std::array<program::before, program::events> stands_for{};
    what.kernels.reserve(200);
    for (int step = 0; step < 200; ++step) {
        const std::size_t stream = random() % program::streams, event = random() % program::events;
        switch (random() % 4) {
            case 0:
                CHECK(on.cuda.cuEventRecord(events[event], streams[stream]) == CUDA_SUCCESS);
                stands_for[event] = known[stream];
                break;
            case 1:
                CHECK(on.cuda.cuStreamWaitEvent(streams[stream], events[event], 0) == CUDA_SUCCESS);
                known[stream] = later(known[stream], stands_for[event]);
                break;
            case 2:
                if (random() % 3 == 0) machine.advance(duration(random() % 20'000));
                break;
            default: {
                const std::size_t number = what.kernels.size();
                what.kernels.emplace_back(stream, known[stream]);
                ++known[stream][stream];
                machine.launch(streams[stream], duration(random() % 10'000), [&what, number] { what.order.push_back(number); });
            }
        }
    }
    machine.run();
}

program run(std::uint64_t seed, std::uint64_t machine_seed) {
    sim::options how;
    how.seed = machine_seed;
    how.jitter = 10us;
    sim::checked_machine machine(how);
    device on(machine.driver());
    program what;
    enqueue(machine, on, what, seed);
    return what;
}

}  // namespace

TEST_CASE("in every order of streams what an event stood for comes before what waited for it") {
    for (std::uint64_t seed = 1; seed <= test::seeds(20); ++seed) {
        CAPTURE(seed);
        const program what = run(seed, seed);
        REQUIRE(what.order.size() == what.kernels.size());
        program::before ended{};
        for (const std::size_t number : what.order) {
            const auto& [stream, before] = what.kernels[number];
            for (std::size_t other = 0; other < program::streams; ++other) CHECK(ended[other] >= before[other]);
            CHECK(ended[stream] == before[stream]);  // those of its own stream, and no more
            ++ended[stream];
        }
    }
}

TEST_CASE("one seed is one order, and seeds differ") {
    std::set<std::vector<std::size_t>> orders;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        CHECK(run(1, seed).order == run(1, seed).order);
        orders.insert(run(1, seed).order);
    }
    CHECK(orders.size() > 1);
}

}  // namespace sim_order_test
