// Two processes on one device. Through the host that is an ordinary thing. Two ranks of NCCL on one device are not meant to be: NCCL takes
// them for two hosts if it is told so, and they wait for each other in kernels that the device runs by turns. So that is tried only where
// a variable asks for it, and under a time limit.
#include "gpu/conformance/child_process.hpp"
#include "gpu/conformance/collectives.hpp"
#include "gpu/conformance/skipped.hpp"

#include <tutti/world.hpp>

#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;
using test::child_process;
using test::rank_orders;
using test::rank_place;
using test::testbed;

namespace {

constexpr int size = 2;
/// Their ranks run the tests of the same names.
constexpr const char *through_host = "two processes share a device through the host", *by_nccl = "two ranks of NCCL share a device",
                     *one_dies = "of two ranks of NCCL that share a device one dies";
constexpr std::chrono::seconds limit{240};  // of all ranks together

task<> everything(rank_place& here, bool nccl) {
    auto collectives = test::all_collectives(here, {.all_types = !nccl});
    co_await std::move(collectives);
    auto others = test::other_operations(here);
    co_await std::move(others);
    auto steps = test::train(here);
    co_await std::move(steps);
}

/// Rank 1 dies. Rank 0 waits for it on the device, and frees memory, for which that has to be over; then it works on alone.
task<> lose_a_rank(rank_place& here, bool& through) {
    const auto data = here.place_filled<float>(1000, 1.0f);
    auto first = here.all.all_reduce(data.all<float>(), sum, here.behind_compute());
    co_await std::move(first);
    int word = 1;
    if (here.me == 1) {
        auto told = here.world.recv(std::span(&word, 1), 0);
        co_await std::move(told);
        ::raise(SIGKILL);
    }
    std::optional<test::mirrored_memory> other = here.place(1 << 20);
    gpu::operation pending = here.all.all_reduce(data.all<float>(), sum);
    auto enqueued = pending.enqueued();
    co_await std::move(enqueued);
    other.reset();
    auto telling = here.world.send(std::span<const int>(&word, 1), 1);
    static_cast<void>(co_await as_result(std::move(telling)));  // it may have failed by then
    const auto how = co_await as_result(std::move(pending).completed());
    REQUIRE_FALSE(how);
    CAPTURE(std::string(how.failure().what()));
    CHECK(how.failure().code() == error::peer_died);
    CHECK(how.failure().details().peers == std::vector<rank>{1});
    CHECK(std::string(how.failure().what()).find("could not abort") == std::string::npos);
    const auto more = here.place_filled<float>(1000, 2.0f);
    auto copied = here.download(more);
    co_await std::move(copied);
    through = true;
}

task<> join_and_work(context& home, const rank_orders& orders, const testbed& bed, result<gpu::device> card) {
    world who;
    who.me = orders.me;
    who.size = who.local_size = orders.size;
    who.master_address = "127.0.0.1";
    who.store_path = orders.store;
    auto joining = home.join(who);
    const auto world = co_await std::move(joining);
    gpu::group_options how;
    const bool nccl = orders.engine != "staged", ends_early = orders.engine == "nccl, and one dies";
    how.engine = nccl ? gpu::engine_kind::nccl : gpu::engine_kind::staged;
    bool through = false;
    const test::rank_body body = [&, nccl](rank_place& here) { return ends_early ? lose_a_rank(here, through) : everything(here, nccl); };
    const auto none = test::no_nccl();
    auto work = test::take_part(*world, card, nccl ? bed.nccl_library() : none, how, body);
    try {
        co_await std::move(work);
    } catch (const failure& why) {
        if (!ends_early) throw;
        CHECK(through);  // it cannot be closed well
        co_return;
    }
    auto leaving = world->close();
    co_await std::move(leaving);
}

void be_a_rank(const rank_orders& orders) {
    testbed bed;
    result<gpu::device> card = bed.open();
    context home;
    event_loop loop;
    run(loop, join_and_work(home, orders, bed, card));
}

/// A name for a store that is gone with this.
class store_file {
public:
    store_file() {
        const int made = ::mkstemp(name_.data());
        REQUIRE(made >= 0);
        ::close(made);
    }
    store_file(const store_file&) = delete;
    store_file& operator=(const store_file&) = delete;
    ~store_file() { ::unlink(name_.c_str()); }
    const std::string& name() const { return name_; }

private:
    std::string name_ = "/tmp/tutti-conformance-XXXXXX";
};

/// Starts all ranks, and waits for them. `last`: the exit code of the last one.
void run_processes(const std::string& engine, const std::string& test_case, const std::vector<std::string> (&variables)[size],
                   int last = 0) {
    const store_file store;
    std::vector<std::unique_ptr<child_process>> ranks;
    for (int me = 0; me < size; ++me)
        ranks.push_back(std::make_unique<child_process>(rank_orders{me, size, engine, store.name()}, test_case, variables[me]));
    const auto end = std::chrono::steady_clock::now() + limit;
    const auto all_ended = [&ranks] {
        bool all = true;
        for (auto& each : ranks) all = each->ended() >= 0 && all;
        return all;
    };
    while (!all_ended() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
    for (int me = 0; me < size; ++me) {
        CAPTURE(me);
        const int code = ranks[static_cast<std::size_t>(me)]->ended();
        if (code < 0) FAIL_CHECK("not ended within " << limit.count() << " s; it is killed");
        else CHECK(code == (me == size - 1 ? last : 0));
    }
}

/// Returns the variables that make NCCL take the ranks for two hosts, which talk over loopback.
std::vector<std::string> of_another_host(int me) {
    std::vector<std::string> all{"NCCL_HOSTID=tutti-conformance-" + std::to_string(me), "NCCL_MNNVL_ENABLE=0", "NCCL_RAS_ENABLE=0"};
    if (std::getenv("NCCL_SOCKET_IFNAME") == nullptr) all.emplace_back("NCCL_SOCKET_IFNAME=lo");
    return all;
}

}  // namespace

TEST_CASE(through_host) {
    if (const auto orders = rank_orders::of_this_process(); orders.me >= 0) return be_a_rank(orders);
    run_processes("staged", through_host, {{}, {}});
}

TEST_SUITE_BEGIN("nccl");

namespace {

/// Why not, if it is not to be tried.
std::optional<std::string> not_by_nccl() {
    const std::string what = "two ranks of NCCL on one device";
    if (test::simulated) return what + ": simulated ones are in one process, and on devices of their own";
    if (const auto missing = test::missing_here(true)) return what + ": " + *missing;
    const char* const asked = std::getenv("TUTTI_TEST_SHARED_DEVICE");
    if (asked != nullptr && std::string(asked) == "1") return std::nullopt;
    return what + ", which may hang it: TUTTI_TEST_SHARED_DEVICE=1 has it tried, for " + std::to_string(limit.count()) + " s at most";
}

}  // namespace

TEST_CASE(by_nccl) {
    if (const auto orders = rank_orders::of_this_process(); orders.me >= 0) return be_a_rank(orders);
    if (const auto why = not_by_nccl()) return test::skip(*why);
    run_processes("nccl", by_nccl, {of_another_host(0), of_another_host(1)});
}

TEST_CASE(one_dies) {
    if (const auto orders = rank_orders::of_this_process(); orders.me >= 0) return be_a_rank(orders);
    if (const auto why = not_by_nccl()) return test::skip(*why);
    run_processes("nccl, and one dies", one_dies, {of_another_host(0), of_another_host(1)}, 128 + SIGKILL);
}

TEST_SUITE_END();
