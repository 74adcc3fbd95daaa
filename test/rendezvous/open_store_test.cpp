#include "store_suite.hpp"

#include "rendezvous/address.hpp"
#include "rendezvous/channel.hpp"

#include <tutti/when_all.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

/// As tutti-run would tell `size` ranks.
std::vector<world> launched(int size) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof where;
    REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&where), bytes) == 0);
    REQUIRE(::listen(descriptor, 64) == 0);
    REQUIRE(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&where), &bytes) == 0);
    std::vector<world> all(static_cast<std::size_t>(size));
    for (rank me = 0; me < size; ++me) {
        world& one = all[static_cast<std::size_t>(me)];
        one.me = one.local_rank = me;
        one.size = one.local_size = size;
        one.master_address = "127.0.0.1";
        one.master_port = ntohs(where.sin_port);
        one.job = "abc";
        if (me == 0) one.store_descriptor = descriptor;
    }
    return all;
}

/// Every rank tells its name, waits for all names, and leaves.
task<> meet(const world& all, duration late) {
    event_loop& loop = co_await this_loop;
    if (late > 0s) co_await sleep_for(late);
    result<std::unique_ptr<store>> opened = co_await open_store(all, soon(loop));
    store& mine = *opened.value();
    result<> done = co_await mine.set("name/" + std::to_string(all.me), std::to_string(all.me * all.me), soon(loop));
    done.value();
    for (rank other = 0; other < all.size; ++other) {
        result<std::string> name = co_await mine.get("name/" + std::to_string(other), soon(loop));
        CHECK(name.value() == std::to_string(other * other));
    }
    result<std::int64_t> sum = co_await mine.add("ranks", 1, soon(loop));
    CHECK(sum.value() <= all.size);
    done = co_await mine.close(soon(loop));
    CHECK(done);
}

}  // namespace

TEST_CASE("all ranks of a job meet in its store and leave it, whoever comes late") {
    for (const int size : {1, 2, 5, 64})
        for (const rank late : {-1, 0, size - 1}) {
            CAPTURE(size);
            CAPTURE(late);
            const std::vector<world> ranks = launched(size);
            event_loop loop;
            std::vector<task<>> all;
            for (const world& one : ranks) all.push_back(meet(one, one.me == late ? duration(20ms) : duration(0)));
            run(loop, when_all(std::move(all)));
            if (size == 1) ::close(ranks[0].store_descriptor);
        }
}

TEST_CASE("a job whose rank 0 got a socket from its launcher may meet again in the same processes") {
    const std::vector<world> ranks = launched(3);
    for (int time = 0; time < 3; ++time) {
        event_loop loop;
        std::vector<task<>> all;
        for (const world& one : ranks) all.push_back(meet(one, {}));
        run(loop, when_all(std::move(all)));
    }
}

TEST_CASE("a job without a meeting point is bad_launch and says what to set") {
    event_loop loop;
    world all;
    all.size = 2;
    all.source = "Open MPI";
    result<std::unique_ptr<store>> opened = run(loop, open_store(all, soon(loop)));
    REQUIRE(!opened);
    CHECK(opened.failure().code() == error::bad_launch);
    const std::string text = opened.failure().what();
    CHECK(text ==
          "rank 0: opening the store: Open MPI does not tell where rank 0 is: set MASTER_ADDR and MASTER_PORT (or, on one host, "
          "TUTTI_STORE=file:PATH)");
}

TEST_CASE("a loopback address for ranks on several hosts is bad_launch on every rank at once") {
    event_loop loop;
    for (const char* master : {"localhost", "127.0.0.1", "::1"})
        for (const rank me : {0, 1}) {
            CAPTURE(master);
            world all;
            all.me = me;
            all.size = 4;
            all.local_size = 2;
            all.master_address = master;
            all.master_port = 29500;
            all.source = "torchrun";
            const result<std::unique_ptr<store>> opened = run(loop, open_store(all, soon(loop)));
            REQUIRE(!opened);
            CHECK(opened.failure().code() == error::bad_launch);
            CHECK(
                std::string(opened.failure().what()) ==
                fmt::format(
                    "rank {}: opening the store: MASTER_ADDR={} means this host on every host, and torchrun says that only 2 of 4 ranks are "
                    "on this one: name the host of rank 0",
                    me, master));
        }
}

TEST_CASE("a rank that finds no store in time is told where it looked") {
    std::vector<world> ranks = launched(2);
    ::close(ranks[0].store_descriptor);
    event_loop loop;
    result<std::unique_ptr<store>> opened = run(loop, open_store(ranks[1], loop.now() + 30ms));
    REQUIRE(!opened);
    CHECK(opened.failure().code() == error::rendezvous_timeout);
    CHECK(std::string(opened.failure().what()).find("rank 1: opening the store: the store at 127.0.0.1:") == 0);
}

TEST_CASE("the keys of one start of a job are not those of the next") {
    char path[] = "/tmp/tutti-open-XXXXXX";
    const int file = ::mkstemp(path);
    REQUIRE(file >= 0);
    ::close(file);
    event_loop loop;
    world before;
    before.store_path = path;
    before.job = "job";
    world after = before;
    after.epoch = 1;
    result<std::unique_ptr<store>> old = run(loop, open_store(before, soon(loop))), fresh = run(loop, open_store(after, soon(loop)));
    run(loop, [](store& one, store& other) -> task<> {
        event_loop& here = co_await this_loop;
        result<> done = co_await one.set("key", "stale", soon(here));
        CHECK(done);
        result<std::string> got = co_await other.get("key", here.now() + 10ms);
        REQUIRE(!got);
        CHECK(got.failure().code() == error::timed_out);
    }(**old, **fresh));
    ::unlink(path);
}

TEST_CASE("ranks of one host listen on loopback, ranks of several do not") {
    world all;
    all.size = all.local_size = 4;
    all.master_address = "some-name-that-is-not-asked-for";
    CHECK(listen_address(all) == "127.0.0.1");
    all.local_size = 0;
    for (const auto& [master, mine] : {std::pair{"127.0.0.1", "127.0.0.1"}, {"::1", "::1"}, {"", ""}}) {
        all.master_address = master;
        CHECK(listen_address(all) == mine);
    }
    all.master_address.clear();
    all.store_path = "/a/file";
    CHECK(listen_address(all) == "127.0.0.1");
    all.store_path.clear();
    all.local_size = 2;
    all.master_address = "127.0.1.1";
    CHECK_FALSE(listen_address(all).starts_with("127."));
    for (const int told : {0, 2}) {
        all.local_size = told;
        all.master_address = std::string(64, 'x');  // longer than a part of a name may be, so no resolver is asked
        CHECK_FALSE(listen_address(all).empty());
    }
}
