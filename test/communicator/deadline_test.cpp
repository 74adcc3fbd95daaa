// Every wait has a limit: an operation whose peer never comes ends in its time, and says for whom it waited.
#include "support/ranks.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace deadline_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::run_ranks;

namespace {

struct row {
    const char* name;
    future<> (*call)(communicator&, std::vector<float>& from, std::vector<float>& to, call_options options);
};

// On rank 0 of 2. More bytes than the links between the ranks can hold, so that a sender waits too.
const row rows[] = {
    {"all_reduce", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.all_reduce(from, sum, o); }},
    {"broadcast", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.broadcast(from, 1, o); }},
    {"broadcast", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.broadcast(from, 0, o); }},
    {"reduce", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.reduce(from, sum, 0, o); }},
    {"all_gather", [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) { return c.all_gather(from, to, o); }},
    {"reduce_scatter", [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) { return c.reduce_scatter(to, from, sum, o); }},
    {"all_to_all",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.all_to_all(from, std::span(to).first(from.size()), o);
     }},
    {"gather", [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) { return c.gather(from, to, 0, o); }},
    {"scatter", [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) { return c.scatter(to, from, 0, o); }},
    {"scan", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.scan(from, sum, o); }},
    {"exclusive_scan", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.exclusive_scan(from, sum, o); }},
    {"all_gather_v",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.all_gather_v(from, to, std::array{from.size(), from.size()}, o);
     }},
    {"reduce_scatter_v",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.reduce_scatter_v(to, from, std::array{from.size(), from.size()}, sum, o);
     }},
    {"gather_v",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.gather_v(from, to, std::array{from.size(), from.size()}, 0, o);
     }},
    {"scatter_v",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.scatter_v(to, from, std::array{from.size(), from.size()}, 0, o);
     }},
    {"all_reduce",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         return c.all_reduce(buffers(from, to), sum, o);
     }},
    {"all_to_all_v",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         const std::size_t send[] = {from.size() - 9, 9}, recv[] = {from.size() - 9, to.size() - from.size() + 9};
         return c.all_to_all_v(from, to, send, recv, o);
     }},
    {"barrier", [](communicator& c, std::vector<float>&, std::vector<float>&, call_options o) { return c.barrier(o); }},
    {"send", [](communicator& c, std::vector<float>& from, std::vector<float>&, call_options o) { return c.send(from, 1, 0, o); }},
    {"exchange",
     [](communicator& c, std::vector<float>& from, std::vector<float>& to, call_options o) {
         const transfer parts[] = {recv_from(to, 1), send_to(from, 1)};
         return c.exchange(parts, o);
     }},
};

task<> wait_in_vain(communicator& all, const row& which, duration own, bool& told) {
    co_await all.barrier();
    event_loop& loop = co_await this_loop;
    if (all.rank() == 1) {
        co_await sleep_for(1min);
        co_return;
    }
    std::vector<float> from(200'000, 1.0f), to(400'000);
    call_options options;
    options.deadline = own;
    options.label = "in vain";
    const time_point begin = loop.now();
    auto pending = which.call(all, from, to, options);
    try {
        co_await std::move(pending);
        FAIL("nobody answered");
    } catch (const failure& why) {
        const report& what = why.details();
        CHECK(why.code() == error::timed_out);
        CHECK(loop.now() - begin >= 2s);
        CHECK(loop.now() - begin <= 2s + 250ms);
        CHECK(what.operation.starts_with(which.name));
        CHECK(what.sequence > 0);
        CHECK(what.communicator == "world");
        CHECK(what.epoch == 0);
        CHECK(what.local == 0);
        CHECK(what.peers == std::vector<rank>{1});
        CHECK(what.done_bytes <= what.total_bytes);
        CHECK(what.elapsed >= 2s);
        CHECK(what.label == "in vain");
        CHECK(what.cause.find("waited 2 s") != std::string::npos);
        told = true;
    }
}

/// All that takes a duration, with the longest.
task<> wait_for_ever(communicator& all, int& count) {
    call_options options;
    options.deadline = duration::max();
    std::vector<float> data(100, 1);
    auto split = all.split(0, -all.rank());
    auto child = co_await std::move(split);
    co_await child->all_reduce(data, sum, options);
    co_await child->monitored_barrier(options);
    const rank next = (all.rank() + 1) % all.size(), last = (all.rank() + all.size() - 1) % all.size();
    std::vector<float> came(100);
    auto sent = all.send(data, next, 0, options);
    co_await all.recv(came, last, 0, options);
    co_await std::move(sent);
    CHECK(came == std::vector<float>(100, static_cast<float>(all.size())));
    for (communicator* each : {child.get(), &all}) {
        auto closing = each->close(duration::max());
        co_await std::move(closing);
    }
    ++count;
}

}  // namespace

TEST_CASE("the longest of all durations is for ever") {
    context_options options;
    options.connect = options.handshake = options.rendezvous = options.operation = options.lost_link = duration::max();
    for (const int size : {1, 2, 3}) {
        int count = 0;
        run_ranks(
            size, [&](communicator& world) { return wait_for_ever(world, count); }, options);
        CHECK(count == size);
    }
}

TEST_CASE("every operation ends in its time when a peer never comes, by its own deadline or the communicator's") {
    for (const row& each : rows)
        for (const duration own : {duration(2s), duration(0s)}) {
            CAPTURE(each.name);
            CAPTURE(own.count());
            context_options options;
            options.operation = own == duration(0s) ? 2s : 5min;
            bool told = false;
            run_ranks(2, [&](communicator& world) { return wait_in_vain(world, each, own, told); }, options);
            CHECK(told);
        }
}

}  // namespace deadline_test
