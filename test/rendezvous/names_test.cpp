// How a rank finds the store by a name whose meaning changes, and which addresses rank 0 listens at.
#include "store_suite.hpp"

#include "rendezvous/address.hpp"
#include "rendezvous/tcp_channel.hpp"
#include "rendezvous/tcp_store_server.hpp"
#include "runtime/connecting.hpp"

#include <algorithm>
#include <deque>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

using tcp = asio::ip::tcp;

constexpr auto name = "node0";
constexpr store_patience short_patience{50ms, 100ms};

protocol::hello hello_from(rank me, int size, std::uint64_t ticket = 0) {
    protocol::hello who;
    who.me = me;
    who.size = size;
    who.job = "job";
    who.ticket = ticket;
    return who;
}

using meanings = std::deque<std::vector<tcp::endpoint>>;

/// A name whose meaning is another one each time, and stays the last. No addresses: the look-up fails.
class changing_names final : public name_service {
public:
    explicit changing_names(meanings all) : meanings_(std::move(all)) {}

    task<result<std::vector<tcp::endpoint>>> look_up(std::string host, std::uint16_t, time_point) override {
        CHECK(host == name);
        ++asked;
        std::vector<tcp::endpoint> found = meanings_.front();
        if (meanings_.size() > 1) meanings_.pop_front();
        if (found.empty()) co_return failure(error::system, "Host not found");
        co_return std::move(found);
    }

    int asked = 0;

private:
    meanings meanings_;
};

/// A port of loopback at which connections are not answered (its queue is full), or taken and never read.
class useless_listener {
public:
    enum kind { deaf, mute };

    explicit useless_listener(kind how) : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        acceptor_.listen(how == deaf ? 0 : 64);
        for (int i = 0; how == deaf && i < 4; ++i) {
            waiting_.emplace_back(context_, tcp::v4());
            waiting_.back().non_blocking(true);
            (void)start_to_connect(waiting_.back(), where());
        }
    }
    tcp::endpoint where() const { return acceptor_.local_endpoint(); }

private:
    asio::io_context context_;
    tcp::acceptor acceptor_;
    std::vector<tcp::socket> waiting_;
};

/// A port of loopback at which nothing listens.
class closed_port {
public:
    closed_port() : held_(context_, tcp::v4()) { held_.bind({asio::ip::address_v4::loopback(), 0}); }
    tcp::endpoint where() const { return held_.local_endpoint(); }

private:
    asio::io_context context_;
    tcp::socket held_;
};

struct named_store {
    explicit named_store(int size, const std::string& address = "127.0.0.1")
        : server(tcp_store_server::listen(loop, table, hello_from(0, size), address, 0).value()) {}

    tcp::endpoint where() const { return {asio::ip::address_v4::loopback(), server->port()}; }
    result<std::unique_ptr<request_channel>> connect(name_service& names, duration within = 10s) {
        return run(loop, connect_store(name, server->port(), hello_from(1, 2), loop.now() + within, names, short_patience));
    }
    result<std::unique_ptr<request_channel>> connect(const std::string& host, const protocol::hello& who) {
        return run(loop, connect_store(host, server->port(), who, loop.now() + 10s));
    }

    event_loop loop;
    memory_table table;
    std::unique_ptr<tcp_store_server> server;
};

bool has_ipv6() {
    asio::io_context context;
    boost::system::error_code error;
    tcp::acceptor there(context);
    there.open(tcp::v6(), error);
    if (!error) there.bind({asio::ip::address_v6::loopback(), 0}, error);
    if (error) MESSAGE("this host has no IPv6");
    return !error;
}

world of_hosts(const std::string& master, int local_size) {
    world all;
    all.size = 4;
    all.local_size = local_size;
    all.master_address = master;
    return all;
}

}  // namespace

TEST_CASE("a name that has no meaning at first, or leads astray, is looked up until it leads to the store") {
    named_store job(2);
    const closed_port closed;
    const useless_listener deaf(useless_listener::deaf), mute(useless_listener::mute);
    changing_names names(meanings{{}, {}, {closed.where()}, {deaf.where()}, {mute.where()}, {job.where()}});
    const result<std::unique_ptr<request_channel>> found = job.connect(names);
    CHECK(found);
    CHECK(names.asked == 6);
}

TEST_CASE("all addresses of a name are tried, and none of them uses up the time of the others") {
    named_store job(2);
    const closed_port closed;
    const useless_listener deaf(useless_listener::deaf), mute(useless_listener::mute);
    changing_names names(meanings{{deaf.where(), closed.where(), mute.where(), job.where()}});
    const time_point begin = job.loop.now();
    CHECK(job.connect(names));
    CHECK(names.asked == 1);
    CHECK(job.loop.now() - begin < 5s);
}

TEST_CASE("a rank that does not find the store tells what each address was like") {
    named_store job(2);
    const closed_port closed;
    const useless_listener deaf(useless_listener::deaf);
    changing_names names(meanings{{closed.where(), deaf.where()}});
    const auto none = job.connect(names, 300ms);
    REQUIRE(!none);
    CHECK(none.failure().code() == error::rendezvous_timeout);
    CHECK(none.failure().details().peers == std::vector<rank>{0});
    const std::string text = none.failure().what();
    CAPTURE(text);
    CHECK(text.find("127.0.0.1: Connection refused; 127.0.0.1: no answer to the connection request") != std::string::npos);
    changing_names unknown(meanings{{}});
    const std::string reason = job.connect(unknown, 100ms).failure().what();
    CHECK(reason.find("the store at node0:") != std::string::npos);
    CHECK(reason.find("Host not found") != std::string::npos);
}

TEST_CASE("an address to which nothing can be sent ends the search at once, unless the name has another one") {
    if (!has_ipv6()) return;
    named_store job(2);
    const tcp::endpoint nowhere(asio::ip::make_address("fe80::1"), 80);
    changing_names names(meanings{{nowhere}});
    const auto none = job.connect(names);
    REQUIRE(!none);
    CHECK(none.failure().code() == error::bad_launch);
    const std::string text = none.failure().what();
    CAPTURE(text);
    CHECK(text.find("Invalid argument: an address that is local to a link needs an interface of this host, as in fe80::1%eth0") !=
          std::string::npos);
    CHECK(names.asked == 1);
    changing_names both(meanings{{nowhere, job.where()}});
    CHECK(job.connect(both));
}

TEST_CASE("a rank that says hello again, because it was not answered in time, is still that rank") {
    named_store job(3);
    const auto late = job.connect("127.0.0.1", hello_from(1, 3));
    tcp::socket first(io_of(job.loop)), again(io_of(job.loop));
    for (tcp::socket* each : {&first, &again}) {
        each->connect(job.where());
        const std::string said = std::string(protocol::mark) + protocol::frame(hello_from(2, 3, 7));
        asio::write(*each, asio::buffer(said));
    }
    const auto until_told = [](tcp::socket& socket) -> task<> {
        for (int tries = 0; socket.available() == 0 && tries < 5000; ++tries) co_await sleep_for(1ms);
    };
    run(job.loop, until_told(again));
    std::string reply(again.available(), '\0');
    asio::read(again, asio::buffer(reply));
    const auto told = protocol::parse_reply(std::string_view(reply).substr(protocol::length_bytes));
    REQUIRE(told);
    CHECK_FALSE(told->reply.refused);
    CHECK(job.server->connections() == 2);
}

TEST_CASE("a store at all addresses is reached by those of both families, and tells by which most ranks have come") {
    named_store job(5, "");
    CHECK(job.server->address() == "*:" + std::to_string(job.server->port()));
    CHECK(job.server->reached_at() == "");
    const auto one = job.connect("127.0.0.3", hello_from(1, 5)), two = job.connect("127.0.0.2", hello_from(2, 5)),
               three = job.connect("127.0.0.2", hello_from(3, 5));
    REQUIRE(one);
    REQUIRE(two);
    REQUIRE(three);
    CHECK((*one)->local_address() == "127.0.0.1");
    CHECK(job.server->reached_at() == "127.0.0.2");
    if (!has_ipv6()) return;
    const auto four = job.connect("::1", hello_from(4, 5));
    REQUIRE(four);
    CHECK((*four)->local_address() == "::1");
}

TEST_CASE("the store is looked for at a loopback address where all ranks are on this host, else at the name or number that was told") {
    struct {
        const char* master;
        int local_size;
        const char *host, *bind;
    } const rows[] = {{"node0", 4, "127.0.0.1", "127.0.0.1"},
                      {"10.0.0.1", 4, "127.0.0.1", "127.0.0.1"},
                      {"::1", 4, "::1", "::1"},
                      {"node0", 2, "node0", ""},
                      {"node0", 0, "node0", ""},
                      {"localhost", 0, "127.0.0.1", "127.0.0.1"},
                      {"127.0.1.1", 0, "127.0.1.1", "127.0.1.1"},
                      {"0.0.0.0", 0, "0.0.0.0", ""},
                      {"::", 0, "::", ""},
                      {"203.0.113.1", 0, "203.0.113.1", ""}};
    for (const auto& row : rows) {
        CAPTURE(row.master);
        CAPTURE(row.local_size);
        CHECK(store_host(of_hosts(row.master, row.local_size)) == row.host);
        CHECK(store_bind_address(of_hosts(row.master, row.local_size)) == row.bind);
    }
}

TEST_CASE("a rank listens where it has reached the store, and asks rank 0 where that is loopback and others may be elsewhere") {
    struct {
        const char* master;
        int local_size;
        const char* reached;
        std::optional<std::string> listens;
    } const rows[] = {{"node0", 4, "10.0.0.7", "127.0.0.1"},
                      {"node0", 2, "10.0.0.7", "10.0.0.7"},
                      {"node0", 0, "fe80::1%eth0", "fe80::1%eth0"},
                      {"node0", 0, "127.0.0.1", {}},
                      {"node0", 2, "127.0.0.1", {}},
                      {"node0", 0, "::1", {}},
                      {"::1", 0, "::1", "::1"},
                      {"127.0.0.1", 0, "127.0.0.1", "127.0.0.1"}};
    for (const auto& row : rows) {
        CAPTURE(row.master);
        CAPTURE(row.reached);
        CHECK(address_for_peers(of_hosts(row.master, row.local_size), row.reached) == row.listens);
    }
}
