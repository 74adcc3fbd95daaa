// Two processes on one device. Through the host that is an ordinary thing. Two ranks of NCCL on one device are not meant to be: NCCL takes
// them for two hosts if it is told so, and they wait for each other in kernels that the device runs by turns. So that is tried only where
// somebody asks for it, and under a time limit.
#include "gpu/conformance/child_process.hpp"
#include "gpu/conformance/collectives.hpp"
#include "gpu/conformance/skipped.hpp"

#include <tutti/world.hpp>

#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <memory>
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
constexpr const char *through_host = "two processes share a device through the host", *by_nccl = "two ranks of NCCL share a device";
constexpr std::chrono::seconds limit{240};  // of all ranks together

task<> everything(rank_place& here, bool nccl) {
    auto collectives = test::all_collectives(here, {.all_types = !nccl});
    co_await std::move(collectives);
    auto others = test::other_operations(here);
    co_await std::move(others);
    auto steps = test::train(here);
    co_await std::move(steps);
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
    const bool nccl = orders.engine == "nccl";
    how.engine = nccl ? gpu::engine_kind::nccl : gpu::engine_kind::staged;
    const test::rank_body body = [nccl](rank_place& here) { return everything(here, nccl); };
    const auto none = test::no_nccl();
    auto work = test::take_part(*world, card, nccl ? bed.nccl_library() : none, how, body);
    co_await std::move(work);
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

/// Starts all ranks, and waits for them.
void run_processes(const std::string& engine, const std::string& test_case, const std::vector<std::string> (&variables)[size]) {
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
        else CHECK(code == 0);
    }
}

/// What makes NCCL take the ranks for two hosts, which talk over loopback.
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

TEST_CASE(by_nccl) {
    if (const auto orders = rank_orders::of_this_process(); orders.me >= 0) return be_a_rank(orders);
    if (test::simulated)
        return test::skip("two ranks of NCCL on one device: simulated ones are in one process, and on devices of their own");
    if (const auto missing = test::missing_here(true)) return test::skip("two ranks of NCCL on one device: " + *missing);
    const char* const asked = std::getenv("TUTTI_TEST_SHARED_DEVICE");
    if (asked == nullptr || std::string(asked) != "1")
        return test::skip("two ranks of NCCL on one device, which may hang it: TUTTI_TEST_SHARED_DEVICE=1 has it tried, for " +
                          std::to_string(limit.count()) + " s at most");
    run_processes("nccl", by_nccl, {of_another_host(0), of_another_host(1)});
}

TEST_SUITE_END();
