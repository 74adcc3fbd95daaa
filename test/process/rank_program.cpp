// The ranks of process tests; the first argument says what they do. Every rank prints its process id first.
#include <tutti/tutti.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tutti;  // not `link`, which is POSIX's too

namespace {

void say(const char* what, const communicator& world) {
    std::printf("%s rank %d pid %d\n", what, world.rank(), static_cast<int>(getpid()));
    std::fflush(stdout);
}

/// Never ends by itself: there is always a collective under way.
task<> busy(communicator& world) {
    std::vector<float> data(1 << 20, 1.0f);
    co_await world.all_reduce(data, avg);
    say("ready", world);
    for (;;) co_await world.all_reduce(data, avg);
}

/// The memory that all lend is summed where it lies, where they share memory; several such sums follow each other without a pause.
task<> lending(communicator& world) {
    constexpr std::size_t count = 200'000;
    auto data = world.allocate<float>(4 * count);
    std::fill(data.begin(), data.end(), 1.0F);
    const std::span<float> all(data);
    co_await world.all_reduce(data, avg);
    say("ready", world);
    for (;;) {
        std::vector<future<>> going;
        for (std::size_t part = 0; part < 4; ++part) going.push_back(world.all_reduce(all.subspan(part * count, count), avg));
        for (auto& each : going) co_await std::move(each);
    }
}

/// Has met the others, and then waits for something else.
task<> idle(communicator& world) {
    co_await world.barrier();
    say("ready", world);
    co_await sleep_for(std::chrono::minutes(10));
}

/// Everybody but the last rank is closing, and waits for it.
task<> shutdown(communicator& world) {
    co_await world.barrier();
    say("ready", world);
    if (world.rank() + 1 == world.size()) co_await sleep_for(std::chrono::minutes(10));
}

task<> mismatch(communicator& world) {
    std::vector<float> data(10);
    if (world.rank() == 2) co_await world.broadcast(data, 0);
    else co_await world.all_reduce(data, sum);
    co_await world.barrier();
}

task<> wrong_root(communicator& world) {
    std::vector<float> data(10);
    co_await world.broadcast(data, world.rank() == 1 ? 9 : 0);
    co_await world.barrier();
}

task<> throws(communicator& world) {
    co_await world.barrier();
    if (world.rank() == 1) throw std::runtime_error("out of cheese");
    co_await world.barrier();
}

task<> throws_a_number(communicator& world) {
    co_await world.barrier();
    if (world.rank() == 1) throw 42;
    co_await world.barrier();
}

/// Closes its communicator by itself, and has more to do then than a failure has time to be told.
task<> close_and_go_on(communicator& world) {
    bool well = true;
    try {
        auto closing = world.close();
        co_await std::move(closing);
    } catch (const failure&) {
        well = false;
    }
    co_await sleep_for(std::chrono::milliseconds(100));
    say(well ? "closed" : "failed", world);
}
task<> closes(communicator& world) {
    co_await world.barrier();
    auto rest = close_and_go_on(world);
    co_await std::move(rest);
}
task<> fails_and_closes(communicator& world) {
    for (const bool met : {false, true}) {
        if (met && world.rank() == 1) world.abort("enough");  // all have begun, and some may still be in their first barrier
        future<> barrier = world.barrier();
        (void)co_await as_result(std::move(barrier));
    }
    auto rest = close_and_go_on(world);
    co_await std::move(rest);
}

/// A rank that leaves early, while the others still count on it.
task<> leaves(communicator& world) {
    co_await world.barrier();
    if (world.rank() == 1) co_return;
    co_await world.barrier();
}

int open_sockets() {
    int count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        count += std::filesystem::read_symlink(each, gone).string().starts_with("socket:") ? 1 : 0;
    }
    return count;
}

/// How many sockets this process has once every two ranks have exchanged little and much.
task<> sockets(communicator& world) {
    const auto all = static_cast<std::size_t>(world.size());
    for (const std::size_t count : {all, all << 16}) {
        std::vector<float> from(count), to(count);
        co_await world.all_to_all(from, to);
    }
    // Where two ranks have called each other at once, one of the links is closed later.
    int control_links = world.rank() > 0;
    for (rank child = 2 * world.rank() + 1; child <= 2 * world.rank() + 2 && child < world.size(); ++child) ++control_links;
    const int wanted = 1 + control_links + 2 * (world.size() - 1);
    int count = open_sockets();
    for (int tries = 0; count > wanted && tries < 500; ++tries) {
        co_await sleep_for(std::chrono::milliseconds(10));
        count = open_sockets();
    }
    std::printf("rank %d sockets %d\n", world.rank(), count);
    co_await world.barrier();
}

/// Where this rank is, and how it reaches the others once they have summed little and much.
task<> hosts(communicator& world) {
    for (const std::size_t count : {1u, 1u << 20}) {
        std::vector<float> data(count, static_cast<float>(world.rank()));
        co_await world.all_reduce(data, sum);
        if (data.back() != static_cast<float>(world.size() * (world.size() - 1) / 2)) throw std::runtime_error("the sum is wrong");
    }
    std::vector<int> from(static_cast<std::size_t>(world.size())), to(from);
    co_await world.all_to_all(from, to);
    std::string routes;
    for (rank each = 0; each < world.size(); ++each) routes += each == world.rank() ? " me" : world.route(each).starts_with("shm") ? " shm" : " tcp";
    std::printf("rank %d of %d hosts:%s\n", world.rank(), world.hosts(), routes.c_str());
    co_await world.barrier();
}

/// Links of all kinds, a child, and memory that is lent.
task<> spends(communicator& world) {
    const std::vector<float> one(100);
    const rank next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
    std::vector<float> other(100);
    co_await world.exchange(send_to(one, next), recv_from(other, before));
    auto splitting = world.split(0, world.rank());
    const auto child = co_await std::move(splitting);
    auto lent = child->allocate<float>(100'000);
    for (int turn = 0; turn < 3; ++turn) {
        co_await child->all_reduce(lent, sum);
        co_await child->all_gather(one, std::span<float>(lent).first(100 * static_cast<std::size_t>(world.size())));
    }
    auto closing = child->close();
    co_await std::move(closing);
    say("spent", world);
}

/// More children at once than this process may have descriptors, with data of all kinds in each. Meanwhile the first child waits for rank 1,
/// with more bytes under way than a stream holds.
task<> children(communicator& world) {
    constexpr int count = 300;
    std::vector<std::unique_ptr<communicator>> all;
    for (int each = 0; each < count; ++each) {
        auto splitting = world.split(0, world.rank());
        all.push_back(co_await std::move(splitting));
    }
    const float ranks = static_cast<float>(world.size());
    std::vector<float> held(1 << 20, 1);
    future<> holding;
    for (int each = 1; each < count; ++each) {
        if (each == count / 2 && world.rank() != 1) holding = all[0]->all_reduce(held, sum);  // its lanes are streams by now
        communicator& child = *all[static_cast<std::size_t>(each)];
        std::vector<float> data(each % 20 == 0 ? 1 << 18 : 100, static_cast<float>(each)), sent(data), came(data.size());
        co_await child.all_reduce(data, sum);
        const rank next = (child.rank() + 1) % child.size(), before = (child.rank() + child.size() - 1) % child.size();
        co_await child.exchange(send_to(sent, next), recv_from(came, before));
        if (data.back() != ranks * static_cast<float>(each) || came != sent) throw std::runtime_error("the sum is wrong");
    }
    if (world.rank() == 1) holding = all[0]->all_reduce(held, sum);
    co_await std::move(holding);
    if (held.front() != ranks || held.back() != ranks) throw std::runtime_error("the first sum is wrong");
    for (auto& child : all) {
        auto closing = child->close();
        co_await std::move(closing);
    }
    say("done", world);
}

task<int> leave_or_close(context& home, world who) {
    auto joining = home.join(who);
    const auto all = co_await std::move(joining);
    co_await all->monitored_barrier();
    if (who.me % 2 == 1) co_return 0;
    auto closing = all->close(std::chrono::seconds(20));
    co_await std::move(closing);
    std::printf("rank %d closed\n", who.me);
    co_return 0;
}

/// Ranks of odd numbers exit without waiting for the others, who close.
int exit_early() {
    auto who = world_from_environment();
    if (!who) return 2;
    context home;
    event_loop loop;
    return run(loop, leave_or_close(home, *who));
}

/// Rank 2 dies. The others hear of it, and save what they have, which takes them a while.
task<int> saves(communicator& world) {
    std::vector<float> data(1000, 1.0f);
    std::optional<failure> why;
    try {
        for (int step = 0;; ++step) {
            if (step == 50 && world.rank() == 2) std::_Exit(3);
            co_await world.all_reduce(data, avg);
        }
    } catch (const failure& caught) {
        why = caught;
    }
    co_await sleep_for(std::chrono::seconds(1));
    say("saved", world);
    co_return 75;
}

struct part {
    const char* name;
    task<> (*body)(communicator&);
};
constexpr part parts[] = {{"busy", busy},
                          {"spread", busy},
                          {"lending", lending},
                          {"idle", idle},
                          {"shutdown", shutdown},
                          {"mismatch", mismatch},
                          {"wrong_root", wrong_root},
                          {"throws", throws},
                          {"leaves", leaves},
                          {"sockets", sockets},
                          {"hosts", hosts},
                          {"spends", spends},
                          {"children", children},
                          {"late", idle},
                          {"closes", closes},
                          {"fails_and_closes", fails_and_closes},
                          {"throws_a_number", throws_a_number}};

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    context_options options;
    if (what == "spread") {
        options.lanes = 3;
        options.threads = 2;
    }
    if (what == "late") {
        options.rendezvous = std::chrono::seconds(3);
        const char* const me = std::getenv("TUTTI_RANK");
        if (me && me == std::string("2")) return pause();  // until the launcher ends it
    }
    if (const char* const lanes = std::getenv("TUTTI_TEST_LANES")) options.lanes = std::atoi(lanes);
    if (what == "exit_early") return exit_early();
    if (what == "saves") return run(saves, options);
    for (const part& each : parts)
        if (what == each.name) return run(each.body, options);
    std::fprintf(stderr, "rank_program: no part named '%s'\n", what.c_str());
    return 2;
}
