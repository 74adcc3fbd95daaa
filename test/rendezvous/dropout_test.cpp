#include "rendezvous/dropout.hpp"

#include "store_suite.hpp"

#include "rendezvous/tcp_channel.hpp"
#include "rendezvous/tcp_store_server.hpp"

using namespace tutti;
using namespace std::chrono_literals;

namespace {

using tcp = asio::ip::tcp;

protocol::hello hello_of(rank me) {
    protocol::hello who;
    who.me = me;
    who.size = 3;
    who.job = "job";
    who.epoch = 4;
    return who;
}

struct mortal_job {
    std::unique_ptr<store> connect(rank me) {
        auto channel = run(loop, connect_store("127.0.0.1", server->port(), hello_of(me), loop.now() + 10s));
        return prefixed(asking_store(std::move(channel).value(), me), "job/4");
    }

    event_loop loop;
    memory_table table;
    std::unique_ptr<tcp_store_server> server = tcp_store_server::listen(loop, table, hello_of(0), "127.0.0.1", 0).value();
};

/// A rank whose process ends when this does.
class mortal {
public:
    mortal(mortal_job& job, rank me) : socket_(io_of(job.loop)) {
        socket_.connect({asio::ip::address_v4::loopback(), job.server->port()});
        asio::write(socket_, asio::buffer(std::string(protocol::mark) + protocol::frame(hello_of(me))));
        const auto until_answered = [](tcp::socket& socket) -> task<> {
            for (int tries = 0; socket.available() == 0 && tries < 5000; ++tries) co_await sleep_for(1ms);
        };
        run(job.loop, until_answered(socket_));
    }
    void say(std::string bytes) { asio::write(socket_, asio::buffer(bytes)); }

private:
    tcp::socket socket_;
};

task<std::string> heard(store& mine, duration within) {
    event_loop& loop = co_await this_loop;
    auto told = co_await mine.get(dropout_key, loop.now() + within);
    co_return told ? *told : "";
}

}  // namespace

TEST_CASE("what is told of a rank that drops out can be read again, and nothing else can") {
    report why;
    why.code = error::rendezvous_timeout;
    why.root = 3;
    why.peers = {1, 40};
    why.cause = "rank 3 could not join: 7 of 9, and\nso on";
    const auto told = read_dropout(write_dropout(why));
    REQUIRE(told);
    CHECK(told->code == why.code);
    CHECK(told->root == why.root);
    CHECK(told->peers == why.peers);
    CHECK(told->cause == why.cause);
    report bare;
    bare.code = std::make_error_code(std::errc::too_many_files_open);
    const auto less = read_dropout(write_dropout(bare));
    REQUIRE(less);
    CHECK(less->code == error::system);
    CHECK(less->cause == bare.code.message());
    for (const char* other : {"", "4", "4 1", "4 1 0", "4 1 2 3 ", "0 1 0 x", "99 1 0 x", "x 1 0 x", "4 1 9999999999 x"}) {
        CAPTURE(other);
        CHECK_FALSE(read_dropout(other));
    }
}

TEST_CASE("a rank that is gone without a goodbye is told to all others, the first one only") {
    mortal_job job;
    const auto other = job.connect(1), here = prefixed(memory_store(job.table), "job/4");
    for (const bool speaks : {false, true}) {
        mortal dying(job, 2);
        if (speaks) dying.say(std::string("\4\0\0\0abcd", 8));  // what no rank sends
    }
    for (store* each : {other.get(), here.get()}) {
        const auto told = read_dropout(run(job.loop, heard(*each, 10s)));
        REQUIRE(told);
        CHECK(told->code == error::peer_died);
        CHECK(told->root == 2);
        CHECK(told->peers == std::vector<rank>{2});
        CHECK(told->cause.find("rank 2 died while the ranks were joining") == 0);
    }
}

TEST_CASE("a rank that closes its store, or drops it, or never said who it is, is no death") {
    mortal_job job;
    auto one = job.connect(1), two = job.connect(2);
    event_loop& loop = job.loop;
    const auto close = [](store& which) -> task<> {
        event_loop& here = co_await this_loop;
        auto closed = co_await which.close(soon(here));
        closed.value();
    };
    run(loop, close(*one));
    one.reset();
    two.reset();
    {
        tcp::socket stranger(io_of(loop));
        stranger.connect({asio::ip::address_v4::loopback(), job.server->port()});
        asio::write(stranger, asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));
    }
    const auto here = prefixed(memory_store(job.table), "job/4");
    CHECK(run(loop, heard(*here, 200ms)) == "");
    CHECK(job.server->connections() == 0);
}
