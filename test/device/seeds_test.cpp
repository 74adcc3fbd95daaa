// Random programs of several ranks and communicators, with and without a disaster: whatever the seed, results are right, and every wait ends,
// with one code on all ranks.
#include "device/ranks.hpp"
#include "support/seeds.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <array>
#include <random>
#include <string>

namespace seeds_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

enum class disaster { none, error, hang, fault, abort, death };
constexpr int disasters = 6;

enum class what { all_reduce, broadcast, all_gather, reduce, reduce_scatter, ring, list, barrier };
constexpr int kinds = 8;

struct step {
    std::size_t on = 0;  // which communicator
    what kind = what::barrier;
    std::size_t count = 0;
    rank root = 0;
    bool after = false;  // behind a kernel that takes this long
    std::array<duration, 4> kernel{};
};

/// The same on all ranks.
struct plan {
    explicit plan(std::uint64_t seed) : random(seed) {
        size = 2 + static_cast<int>(random() % 3);
        bad = random() % 2 == 0 ? disaster::none : static_cast<disaster>(random() % disasters);
        victim = static_cast<rank>(random() % static_cast<unsigned>(size));
        when = std::chrono::microseconds(random() % 3000);
        for (std::size_t each = 5 + random() % 25; each > 0; --each) {
            step one;
            one.on = random() % 2;
            one.kind = static_cast<what>(random() % kinds);
            one.count = random() % 3 == 0 ? random() % 3 : random() % 2000;
            one.root = static_cast<rank>(random() % static_cast<unsigned>(size));
            one.after = random() % 2 == 0;
            for (duration& length : one.kernel) length = std::chrono::microseconds(random() % 400);
            steps.push_back(one);
        }
    }
    std::mt19937_64 random;
    int size;
    disaster bad;
    rank victim;
    duration when;
    std::vector<step> steps;
};

using memory = gpu::device_buffer<std::int64_t>;

/// One call of one rank: what it is given, and what must be there in the end.
struct made_call {
    memory from, to;
    std::vector<std::int64_t> expected;  // at the beginning of `to`
    gpu::operation done;
};

std::vector<std::int64_t> expected_of(const gpu::communicator& in, const step& one, std::int64_t factor) {
    const int size = in.size();
    switch (one.kind) {
        case what::all_reduce:
        case what::reduce_scatter:
        case what::list: return std::vector(one.count, factor * size * (size + 1) / 2);
        case what::broadcast: return std::vector(one.count, factor * (one.root + 1));
        case what::reduce: return std::vector(one.count, in.rank() == one.root ? factor * size * (size + 1) / 2 : factor * (in.rank() + 1));
        case what::ring: return std::vector(one.count, factor * ((in.rank() + size - 1) % size + 1));
        case what::barrier: return {};
        case what::all_gather: break;
    }
    std::vector<std::int64_t> all;
    for (std::int64_t each = 1; each <= size; ++each) all.insert(all.end(), one.count, factor * each);
    return all;
}

/// Of rank r both buffers hold (r + 1) * factor.
made_call prepare(device_rank& here, const gpu::communicator& in, const step& one, std::int64_t factor) {
    const auto parts = static_cast<std::size_t>(in.size());
    const std::int64_t mine = factor * (in.rank() + 1);
    return {here.filled(one.count * (one.kind == what::reduce_scatter ? parts : 1), mine), here.filled(one.count * parts, mine),
            expected_of(in, one, factor), gpu::operation()};
}

gpu::operation issue(gpu::communicator& in, const step& one, const made_call& with, const gpu::call_options& options) {
    const gpu::device_span from(with.from), all(with.to), to = all.part(0, one.count);
    const rank next = (in.rank() + 1) % in.size(), before = (in.rank() + in.size() - 1) % in.size();
    const std::size_t half = one.count / 2;
    switch (one.kind) {
        case what::all_reduce: return in.all_reduce(from, to, sum, options);
        case what::broadcast: return in.broadcast(to, one.root, options);
        case what::all_gather: return in.all_gather(from, all, options);
        case what::reduce: return in.reduce(from, to, sum, one.root, options);
        case what::reduce_scatter: return in.reduce_scatter(from, to, sum, options);
        case what::ring: return in.exchange({gpu::send_to(from, next), gpu::recv_from(to, before)}, options);
        case what::list: return in.all_reduce({to.part(0, half), to.part(half, one.count - half)}, sum, options);
        case what::barrier: break;
    }
    return in.barrier(options);
}

/// The codes with which waits have failed, of each communicator on each rank.
struct outcome {
    std::array<std::array<std::optional<error>, 2>, 4> codes;
    void note(const device_rank& here, std::size_t on, const failure& why) {
        auto& mine = codes[static_cast<std::size_t>(here.me)][on];
        const auto code = static_cast<error>(why.code().value());
        if (!mine) mine = code;
        CHECK(*mine == code);
    }
};

/// As the rank's own random numbers say: in one way, in two, or not at all.
task<> wait_somehow(device_rank& here, const gpu::stream& compute, gpu::operation one, std::size_t on, std::uint64_t way, outcome& all) {
    if (way == 0) co_return;
    std::vector<future<>> waits;
    if (way == 1) waits.push_back(one.enqueued());
    if (way == 2) waits.push_back(one.wait_on(compute));
    waits.push_back(std::move(one).completed());
    if (way == 3) waits.back().cancel();
    for (future<>& each : waits) {
        const auto how = co_await as_result(std::move(each));
        if (how || (way == 3 && how.failure().code() == error::cancelled)) continue;
        all.note(here, on, how.failure());
    }
}

task<> strike(device_rank& here, const plan& of, simulated_network& network) {
    co_await sleep_for(of.when);
    if (here.me != of.victim) co_return;
    if (of.bad == disaster::fault) here.machine.fault(here.card.ordinal());
    if (of.bad == disaster::abort) here.all.abort("the seed says so");
    if (of.bad == disaster::death) network.kill(here.me);
}

task<> work(device_rank& here, gpu::communicator& other, const plan& of, outcome& all) {
    std::mt19937_64 own(static_cast<std::uint64_t>(here.me) + of.steps.size());
    const gpu::stream compute = here.stream();
    gpu::communicator* const communicators[] = {&here.all, &other};
    std::vector<made_call> calls;
    for (std::size_t index = 0; index < of.steps.size(); ++index)
        calls.push_back(prepare(here, *communicators[of.steps[index].on], of.steps[index], static_cast<std::int64_t>(index + 1)));
    for (std::size_t index = 0; index < of.steps.size(); ++index) {
        const step& one = of.steps[index];
        gpu::call_options options;
        options.deadline = 1s;
        if (one.after) {
            here.kernel(compute, one.kernel[static_cast<std::size_t>(here.me)]);
            options.after = &compute;
        }
        calls[index].done = issue(*communicators[one.on], one, calls[index], options);
        if (own() % 3 != 0) continue;
        auto waiting = wait_somehow(here, compute, std::move(calls[index].done), one.on, own() % 5, all);
        co_await std::move(waiting);
    }
    for (std::size_t index = 0; index < calls.size(); ++index) {
        if (!calls[index].done.valid()) continue;
        const auto how = co_await as_result(std::move(calls[index].done).completed());
        if (!how) all.note(here, of.steps[index].on, how.failure());
    }
    for (std::size_t on = 0; on < 2; ++on) {
        gpu::operation last = communicators[on]->barrier();
        const auto how = co_await as_result(std::move(last).completed());
        auto& mine = all.codes[static_cast<std::size_t>(here.me)][on];
        if (!how) all.note(here, on, how.failure());
        CHECK(how.has_value() == !mine);
    }
    for (std::size_t index = 0; index < calls.size(); ++index) {
        if (all.codes[static_cast<std::size_t>(here.me)][of.steps[index].on]) continue;
        CAPTURE(index);
        const auto& expected = calls[index].expected;
        std::vector<std::int64_t> got(expected.size());
        if (!got.empty()) std::memcpy(got.data(), here.shadow(calls[index].to.data()), got.size() * sizeof(std::int64_t));
        CHECK(got == expected);
    }
}

task<> programme(device_rank& here, const plan& of, simulated_network& network, outcome& all) {
    auto splitting = here.all.split(0, -here.me);
    const auto other = co_await std::move(splitting);
    std::vector<task<>> both;
    both.push_back(work(here, *other, of, all));
    both.push_back(strike(here, of, network));
    auto together = when_all(std::move(both));
    co_await std::move(together);
    auto closing = other->close();
    try {
        co_await std::move(closing);
    } catch (const failure& why) {
        all.note(here, 1, why);
    }
}

void check_codes(const plan& of, const outcome& all) {
    for (std::size_t on = 0; on < 2; ++on) {
        std::optional<error> first;
        for (rank me = 0; me < of.size; ++me) {
            const auto& mine = all.codes[static_cast<std::size_t>(me)][on];
            if (!mine || (of.bad == disaster::death && me == of.victim)) continue;
            if (!first) first = mine;
            CHECK(*mine == *first);
        }
        if (of.bad == disaster::none) CHECK_FALSE(first);
    }
}

}  // namespace

TEST_CASE("random programs of all ranks have right results, or end on all of them with one code") {
    int struck = 0;
    for (std::uint64_t seed = 1; seed <= test::seeds(40); ++seed) {
        CAPTURE(seed);
        const plan of(seed);
        CAPTURE(static_cast<int>(of.bad));
        gpu::sim::options how;
        how.seed = seed;
        how.jitter = std::chrono::microseconds(seed % 60);
        how.polls = static_cast<int>(seed % 4);
        simulated_network network(seed, {});
        device_stage stage(of.size, how);
        stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
        if (seed % 3 == 0) stage.card_options.polling = gpu::poll_mode::thread;
        if (of.bad == disaster::error) stage.machine.fail_operation(of.victim, seed % 7, ncclSystemError);
        if (of.bad == disaster::hang) stage.machine.hang_operation(of.victim, seed % 7);
        outcome all;
        stage.run([&](device_rank& here) { return programme(here, of, network, all); });
        check_codes(of, all);
        for (const auto& each : all.codes) struck += each[0] || each[1] ? 1 : 0;
    }
    CHECK(struck > 0);
}

}  // namespace seeds_test
