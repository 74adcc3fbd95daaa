#include "store_suite.hpp"

#include "rendezvous/address.hpp"
#include "rendezvous/channel.hpp"
#include "rendezvous/tcp_channel.hpp"
#include "rendezvous/tcp_store_server.hpp"
#include "support/descriptors.hpp"
#include "support/sanitizers.hpp"

#include <tutti/when_all.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

protocol::hello hello(rank me, int size, std::string job = "job") {
    protocol::hello who;
    who.me = me;
    who.size = size;
    who.job = std::move(job);
    return who;
}

/// A plain blocking socket on loopback: bound to a port of the system's choice, or connected to one.
class raw_socket {
public:
    raw_socket() : number_(::socket(AF_INET, SOCK_STREAM, 0)) {}
    raw_socket(const raw_socket&) = delete;
    raw_socket& operator=(const raw_socket&) = delete;
    ~raw_socket() {
        if (number_ >= 0) ::close(number_);
    }
    std::uint16_t bind() {
        sockaddr_in where = loopback(0);
        socklen_t size = sizeof where;
        REQUIRE(::bind(number_, reinterpret_cast<sockaddr*>(&where), size) == 0);
        REQUIRE(::getsockname(number_, reinterpret_cast<sockaddr*>(&where), &size) == 0);
        return ntohs(where.sin_port);
    }
    void listen() { REQUIRE(::listen(number_, 64) == 0); }
    void connect(std::uint16_t port) {
        const sockaddr_in where = loopback(port);
        REQUIRE(::connect(number_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
    }
    void send(std::string_view bytes) {
        REQUIRE(::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
    }
    int release() { return std::exchange(number_, -1); }

private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(port);
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return where;
    }
    int number_;
};

struct hosted {
    explicit hosted(int size) : server(tcp_store_server::listen(loop, table, hello(0, size), "127.0.0.1", 0).value()) {}

    result<std::unique_ptr<request_channel>> try_connect(const protocol::hello& who, duration patience = 10s) {
        return run(loop, connect_store("127.0.0.1", server->port(), who, loop.now() + patience));
    }
    std::unique_ptr<store> connect(const protocol::hello& who) { return asking_store(try_connect(who).value(), who.me); }

    event_loop loop;
    memory_table table;
    std::unique_ptr<tcp_store_server> server;
};

task<> until_connections(tcp_store_server& server, std::size_t count) {
    event_loop& loop = co_await this_loop;
    const time_point end = soon(loop);
    while (server.connections() != count && loop.now() < end) co_await sleep_for(1ms);
    CHECK(server.connections() == count);
}

task<> get_and_check(store& mine, std::string key, std::string expected) {
    event_loop& loop = co_await this_loop;
    result<std::string> got = co_await mine.get(std::move(key), soon(loop));
    CHECK(got.value() == expected);
}
task<> set(store& mine, std::string key, std::string value) {
    event_loop& loop = co_await this_loop;
    result<> done = co_await mine.set(std::move(key), std::move(value), soon(loop));
    done.value();
}
task<> end_server_later(std::unique_ptr<tcp_store_server>& server) {
    co_await sleep_for(5ms);
    server.reset();
}
task<> get_lost(store& mine) {
    event_loop& loop = co_await this_loop;
    result<std::string> got = co_await mine.get("key", soon(loop));
    REQUIRE(!got);
    CHECK(got.failure().code() == error::peer_died);
    CHECK(std::string(got.failure().what()).find("rank 1: store get: store at 127.0.0.1:") == 0);
    got = co_await mine.get("key", soon(loop));
    REQUIRE(!got);
    CHECK(got.failure().code() == error::peer_died);
}

}  // namespace

TEST_CASE("no program that a process starts inherits what a store is made of") {
    const std::set<int> before = test::open_descriptors();
    hosted all(3);
    const auto mine = all.connect(hello(1, 3)), theirs = all.connect(hello(2, 3));
    run(all.loop, set(*mine, "key", "value"));
    run(all.loop, get_and_check(*theirs, "key", "value"));
    CHECK(test::open_descriptors().size() >= before.size() + 5);  // one listens, two connections have two ends each
    CHECK(test::inherited_since(before).empty());
}

TEST_CASE("a store reached by TCP keeps what stores promise") {
    hosted job(3);
    const std::unique_ptr<store> first = job.connect(hello(1, 3)), second = job.connect(hello(2, 3));
    run(job.loop, store_promises(*first, *second));
    run(job.loop, store_limits(*first));
    run(job.loop, missing_key(*first, job.server->address()));
    run(job.loop, closing(*first));
}

TEST_CASE("a get by TCP waits for another rank's set, and many wait at the same time") {
    hosted job(3);
    const std::unique_ptr<store> first = job.connect(hello(1, 3)), second = job.connect(hello(2, 3)), here = memory_store(job.table);
    run(job.loop, when_all(get_and_check(*first, "a", "1"), get_and_check(*first, "b", "2"), get_and_check(*second, "a", "1"),
                           get_and_check(*here, "b", "2"), set(*second, "a", "1"), set(*first, "b", "2")));
    run(job.loop, when_all(get_and_check(*first, "c", "3"), get_and_check(*second, "c", "3"), set(*here, "c", "3")));
}

TEST_CASE("a client that comes before its server waits for it") {
    raw_socket port;
    const std::uint16_t number = port.bind();  // no socket listens: connecting is refused
    event_loop loop;
    memory_table table;
    std::unique_ptr<tcp_store_server> server;
    run(loop, when_all(
                  [](std::uint16_t where) -> task<> {
                      event_loop& here = co_await this_loop;
                      const protocol::hello who = hello(1, 2);
                      result<std::unique_ptr<request_channel>> channel = co_await connect_store("127.0.0.1", where, who, soon(here));
                      CHECK(channel);
                  }(number),
                  [](raw_socket& from, memory_table& keys, std::unique_ptr<tcp_store_server>& made) -> task<> {
                      event_loop& here = co_await this_loop;
                      co_await sleep_for(30ms);
                      from.listen();
                      co_await sleep_for(30ms);
                      made = tcp_store_server::adopt(here, keys, hello(0, 2), from.release()).value();
                  }(port, table, server)));
}

TEST_CASE("a client whose server never comes gives up at its deadline and tells the last obstacle") {
    raw_socket port;
    const std::uint16_t number = port.bind();
    event_loop loop;
    const protocol::hello who = hello(1, 2);
    result<std::unique_ptr<request_channel>> refused = run(loop, connect_store("127.0.0.1", number, who, loop.now() + 1s));
    REQUIRE(!refused);
    CHECK(refused.failure().code() == error::rendezvous_timeout);
    CHECK(std::string(refused.failure().what()).find("127.0.0.1:" + std::to_string(number) + " was not reached within ") != std::string::npos);
    CHECK(std::string(refused.failure().what()).find("refused") != std::string::npos);
    port.listen();
    result<std::unique_ptr<request_channel>> silent = run(loop, connect_store("127.0.0.1", number, who, loop.now() + 1s));
    REQUIRE(!silent);
    CHECK(std::string(silent.failure().what()).find("nobody answered") != std::string::npos);
}

TEST_CASE("a rank of another job, another size, or a rank twice is refused with the reason") {
    hosted job(3);
    const std::unique_ptr<store> first = job.connect(hello(1, 3));
    struct {
        protocol::hello who;
        const char* told;
    } const rows[] = {{hello(2, 3, "other"), "not of job 'other'"},
                      {hello(2, 4), "rank 2 of 4"},
                      {hello(3, 3), "no rank 3"},
                      {hello(0, 3), "no rank 0"},
                      {hello(-1, 3), "no rank -1"},
                      {hello(1, 3), "rank 1 is here already"}};
    for (const auto& one : rows) {
        CAPTURE(one.told);
        result<std::unique_ptr<request_channel>> channel = job.try_connect(one.who);
        REQUIRE(!channel);
        CHECK(channel.failure().code() == error::refused);
        CHECK(std::string(channel.failure().what()).find(one.told) != std::string::npos);
    }
    run(job.loop, set(*first, "still", "works"));
}

TEST_CASE("a stranger's bytes close the stranger's connection and no other") {
    hosted job(3);
    const std::unique_ptr<store> first = job.connect(hello(1, 3));
    const std::string mark(protocol::mark), long_frame("\xff\xff\xff\x7f", 4);
    const std::string rows[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                std::string(100, '\0'),
                                mark + long_frame,
                                mark + std::string("\4\0\0\0abcd", 8),
                                mark + std::string(4, '\0'),
                                mark + protocol::frame(hello(2, 3)) + std::string("\4\0\0\0abcd", 8)};
    for (const std::string& bytes : rows) {
        raw_socket stranger;
        stranger.connect(job.server->port());
        run(job.loop, until_connections(*job.server, 2));
        stranger.send(bytes);
        run(job.loop, until_connections(*job.server, 1));
    }
    {
        raw_socket short_stay;
        short_stay.connect(job.server->port());
        short_stay.send("12345678");
    }
    run(job.loop, set(*first, "still", "works"));
    run(job.loop, until_connections(*job.server, 1));
}

TEST_CASE("connections that never say who they are are limited in number and in time") {
    event_loop loop(event_loop::virtual_time);
    memory_table table;
    const std::unique_ptr<tcp_store_server> server = tcp_store_server::listen(loop, table, hello(0, 2), "127.0.0.1", 0).value();
    std::vector<std::unique_ptr<raw_socket>> idle;
    for (std::size_t i = 0; i < tcp_store_server::max_unproven + 10; ++i) {
        idle.push_back(std::make_unique<raw_socket>());
        idle.back()->connect(server->port());
    }
    run(loop, [](tcp_store_server& busy) -> task<> {
        co_await sleep_for(1s);
        CHECK(busy.connections() == tcp_store_server::max_unproven);
        co_await sleep_for(5s);
        CHECK(busy.connections() == 0);
    }(*server));
}

TEST_CASE("when the store's rank goes, waiting and later requests end with peer_died") {
    hosted job(2);
    const std::unique_ptr<store> first = job.connect(hello(1, 2));
    run(job.loop, when_all(get_lost(*first), end_server_later(job.server)));
}

TEST_CASE("the store's rank waits until the others have left, and names those who do not") {
    hosted job(4);
    std::unique_ptr<store> first = job.connect(hello(1, 4)), second = job.connect(hello(2, 4));
    result<> gone = run(job.loop, job.server->all_gone(job.loop.now() + 20ms));
    REQUIRE(!gone);
    CHECK(gone.failure().code() == error::timed_out);
    CHECK(gone.failure().details().peers == std::vector<rank>{1, 2, 3});
    first.reset();
    second.reset();
    job.connect(hello(3, 4)).reset();
    gone = run(job.loop, job.server->all_gone(soon(job.loop)));
    CHECK(gone);
}

TEST_CASE("an address that cannot be listened on is told") {
    hosted job(2);
    memory_table table;
    const auto second = tcp_store_server::listen(job.loop, table, hello(0, 2), "127.0.0.1", job.server->port());
    REQUIRE(!second);
    CHECK(std::string(second.failure().what()).find(job.server->address()) != std::string::npos);
    CHECK(std::string(second.failure().what()).find("in use") != std::string::npos);
    CHECK_FALSE(tcp_store_server::adopt(job.loop, table, hello(0, 2), 0));
    CHECK_FALSE(tcp_store_server::adopt(job.loop, table, hello(0, 2), 9999));
}

TEST_CASE("a process that has no descriptor left for the store says so at once, with its limit" * doctest::skip(test::sanitizer_wants_descriptors)) {
    raw_socket port;
    const std::uint16_t number = port.bind();
    port.listen();
    event_loop loop;
    const protocol::hello who = hello(1, 2);
    (void)io_of(loop);  // has what it needs
    const test::no_descriptors none;
    const time_point begin = loop.now();
    result<std::unique_ptr<request_channel>> refused = run(loop, connect_store("127.0.0.1", number, who, loop.now() + 60s));
    REQUIRE(!refused);
    CHECK(refused.failure().code() == error::system);
    CHECK(std::string(refused.failure().what()) ==
          "rank 1 has no descriptor left for the store at 127.0.0.1:" + std::to_string(number) + ": its limit is " + none.limit() + " (ulimit -n)");
    result<std::unique_ptr<store>> file = file_store("/tmp/no-store");
    REQUIRE(!file);
    CHECK(file.failure().code() == error::system);
    CHECK(std::string(file.failure().what()) == "this process has no descriptor left for the store: its limit is " + none.limit() + " (ulimit -n)");
    CHECK(loop.now() - begin < 10s);
}

TEST_CASE("a store that has no descriptor left for those at its door says so when one has waited for a second, and not before" * doctest::skip(test::sanitizer_wants_descriptors)) {
    event_loop loop;
    memory_table table;
    const auto server = std::move(tcp_store_server::listen(loop, table, hello(0, 2), "127.0.0.1", 0)).value();
    raw_socket caller;
    const test::no_descriptors none;
    CHECK_THROWS_WITH_AS(run(loop, with_deadline(server->lack(), 1500ms)), "the deadline passed", failure);  // no rank is there
    caller.connect(server->port());
    CHECK(run(loop, with_deadline(server->lack(), 20s)) == std::errc::too_many_files_open);
}
