#include "measure.hpp"

#include "overlap.hpp"
#include "repetition.hpp"
#include "tensors.hpp"
#include "training_step.hpp"
#include "trial.hpp"

#include "base/core_set.hpp"
#include "base/past_caches.hpp"

#include <algorithm>

namespace perf {
namespace {

using namespace tutti;

/// One call of the collective.
struct single {
    communicator& world;
    trial& what;
    future<> operator()() { return what.start(world); }
};

/// One call, after which this thread does nothing else until its end.
struct spinning {
    communicator& world;
    trial& what;
    std::suspend_never operator()() {
        world.spin(what.start(world));
        return {};
    }
};

/// Several calls, one after the other.
struct sequel {
    communicator& world;
    trial& what;
    task<> operator()() { return what.play(world); }
};

/// One call, with computation on this thread until it is looked at again.
struct beside_computation {
    communicator& world;
    trial& what;
    const computation& work;
    task<> operator()() {
        auto going = what.start(world);
        work();
        co_await std::move(going);
    }
};

struct alone {
    const computation& work;
    task<> operator()() {
        work();
        co_return;
    }
};

std::string_view algorithm_of(const subject& what, std::uint64_t bytes, engine& inside) {
    if (!what.kind) return "messages";
    return inside.chosen(*what.kind, *what.kind == collective::all_to_all_v ? 0 : bytes).name;  // no rank knows all its counts
}

row row_of(const options& given, const trial& what, int size) {
    row made;
    made.op = given.what->name;
    made.bytes = what.bytes();
    made.count = what.count();
    made.type = name(given.type);
    made.reduce_op = given.reduces() ? operator_name(given.reduce) : "none";
    made.ranks = size;
    made.bus_factor = given.what->bus_factor(size);
    return made;
}

/// Returns the transports that have carried this rank's collectives so far.
std::string used_transport(const communicator& world) {
    bool shm = false, tcp = false;
    for (rank peer = 0; peer < world.size(); ++peer) {
        const std::string route = world.route(peer);
        if (!route.empty()) (route.starts_with("shm") ? shm : tcp) = true;
    }
    return shm && tcp ? "shm+tcp" : shm ? "shm" : tcp ? "tcp" : "none";
}

/// One turn of the work, whose result is known.
template <class Work>
task<std::int64_t> count_wrong(communicator& world, trial& what, Work& work) {
    what.fill();
    co_await world.barrier();
    co_await work();
    const std::int64_t wrong = co_await total(world, what.wrong());
    what.clear();
    co_return wrong;
}

task<> measure_beside(communicator& world, const options& given, shared_cores host, trial& what, const row& without, const report& tell) {
    co_await world.barrier();
    const computation work(given.overlap_ms * 1e-3);
    alone computing{work};
    beside_computation both{world, what, work};
    row made = without;
    made.op += "_and_computation";
    const summary compute = co_await measured(world, computing, given, what.bytes());
    made.times = co_await measured(world, both, given, what.bytes());
    const overlap found =
        overlap_of({without.times.median, without.times.cpu}, {compute.median, compute.cpu}, made.times.median, host.ranks, host.cores);
    tell(made, to_text(found));
}

template <class Work>
task<row> measure_work(communicator& world, const options& given, trial& what, Work& work, engine& inside) {
    row made = row_of(given, what, world.size());
    if (given.check) made.wrong = co_await count_wrong(world, what, work);
    made.times = co_await measured(world, work, given, what.bytes());
    made.algorithm = algorithm_of(*given.what, what.bytes(), inside);
    made.transport = used_transport(world);
    co_return made;
}

/// Returns the bytes that a rank goes through before it reads the same memory again: too many for the last cache, even if the rank has it alone.
std::size_t cold_bytes() { return 2 * last_cache_bytes(); }

task<> measure_size(communicator& world, const options& given, std::uint64_t bytes, shared_cores host, engine& inside, const report& tell) {
    trial what(given, given.count_for(bytes, world.size()), world, given.cold ? cold_bytes() : 0);
    single call{world, what};
    sequel calls{world, what};
    spinning spun{world, what};
    row made;
    if (what.played()) made = co_await measure_work(world, given, what, calls, inside);
    else if (given.spin) made = co_await measure_work(world, given, what, spun, inside);
    else made = co_await measure_work(world, given, what, call, inside);
    tell(made, "");
    if (given.overlap_ms > 0) co_await measure_beside(world, given, host, what, made, tell);
}

task<> measure_list(communicator& world, const options& given, engine& inside, const report& tell) {
    options in_place = given;
    in_place.in_place = true;  // gradients become their average where they are
    const std::vector<std::uint64_t> tensors = tensors_of(given.list);
    std::uint64_t count = 0;
    for (const std::uint64_t each : tensors) count += each;
    trial what(in_place, count, world);
    for (const way how : ways) {
        training_step work(world, what.output(), tensors, how, what.op(), {.allocated = given.arena});
        row made = co_await measure_work(world, in_place, what, work, inside);
        made.algorithm = name(how);
        tell(made, "");
    }
}

}  // namespace

task<shared_cores> cores_of(communicator& world, int local_ranks, engine& inside) {
    std::vector<std::uint8_t> seen(CPU_SETSIZE);
    const host_map& hosts = inside.who().hosts;
    const core_set mine = core_set::of_this_thread();
    // Hosts that are only played share the cores of one.
    if (local_ranks == world.size() || hosts.host(world.rank()) == hosts.host(0))
        for (int place = 0; place < mine.count(); ++place) seen[static_cast<std::size_t>(mine.at(place))] = 1;
    co_await world.all_reduce(seen, bor);
    co_return {local_ranks, std::max(1, static_cast<int>(std::count(seen.begin(), seen.end(), 1)))};
}

task<> measure(communicator& world, const options& given, shared_cores host, engine& inside, const report& tell) {
    if (!given.list.empty()) {
        co_await measure_list(world, given, inside, tell);
        co_return;
    }
    for (const std::uint64_t bytes : given.bytes) co_await measure_size(world, given, bytes, host, inside, tell);
}

}  // namespace perf
