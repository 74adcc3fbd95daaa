// The promises of shared memory beyond those of other links: who may come in, what it costs, and what is left of it.
#include "transport/shm_transport.hpp"

#include "pump.hpp"
#include "stage.hpp"
#include "transport/near_link.hpp"
#include "transport/shm_link.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace tutti::test {
namespace {

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

std::unique_ptr<shm_transport> listening(event_loop& loop) { return std::move(shm_transport::listen(loop)).value(); }

/// The name of the local socket in an address.
std::string name_in(const std::string& address) { return address.substr(address.rfind('/') + 1); }

/// Returns what the link says once everything that was sent to it has been looked at.
std::error_code end_of(event_loop& loop, link& over) {
    bool ended = false;
    pump reading{over, {}, 1, [&] {
                     ended = true;
                     if (loop.here()) loop.stop();
                 }};
    reading.start_receiving();
    if (!ended) loop.run();
    CHECK(reading.received_bytes() == 0);
    return reading.recv_code();
}

task<> one_turn() { co_await yield(); }

/// Makes as many connections as that queue holds, which the process has not accepted.
std::vector<file_descriptor> fill_queue(const std::string& name) {
    std::vector<file_descriptor> waiting;
    for (;;) {
        auto next = connect_locally(name);
        if (!next) {
            CHECK(next.failure().code() == std::errc::resource_unavailable_try_again);
            return waiting;
        }
        waiting.push_back(std::move(*next));
    }
}

bool dies_by_itself(pid_t child) {
    int status = 0;
    return ::waitpid(child, &status, 0) == child;
}

}  // namespace

TEST_CASE("a link holds one file at each end, a transport one, and all are given back") {
    event_loop loop;
    (void)listening(loop);  // the loop has files of its own from its first socket on
    const auto before = open_files();
    {
        const auto client = listening(loop);
        const auto server = listening(loop);
        const auto bare = open_files();
        CHECK(bare == before + 2);
        auto pair = run(loop, open(loop, *client, *server));
        CHECK(open_files() == bare + 2);
    }
    CHECK(open_files() == before);
}

TEST_CASE("who dies without a word is noticed by who waits for it, after what it had sent") {
    event_loop loop;
    const auto server = listening(loop);
    const auto address = server->address();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        event_loop own;
        auto client = listening(own);
        auto mine = client->try_connect(address);
        const bytes last = random_bytes(5000, 3);
        const std::span<const std::byte> parts[] = {last};
        if (!mine || (*mine)->try_send(parts).bytes != last.size()) ::_exit(1);
        ::raise(SIGKILL);
    }
    auto accepted = run(loop, server->accept());
    REQUIRE(accepted);
    bool ended = false;
    pump reading{**accepted, {}, 5001, [&] {
                     ended = true;
                     if (loop.here()) loop.stop();
                 }};
    reading.start_receiving();
    if (!ended) loop.run();
    CHECK(reading.received_bytes() == 5000);
    CHECK(reading.recv_code() == error::peer_died);
    bytes got = reading.received();
    got.resize(5000);
    CHECK(got == random_bytes(5000, 3));
    CHECK(dies_by_itself(child));
}

TEST_CASE("memory is taken back from a writer that has died, though a child of it holds its end of the link") {
    event_loop loop;
    const auto server = listening(loop);
    const auto address = server->address();
    int held[2] = {};
    REQUIRE(::pipe(held) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::close(held[1]);
        event_loop own;
        auto client = listening(own);
        auto mine = client->try_connect(address);
        const std::byte word[1] = {};
        const std::span<const std::byte> parts[] = {word};
        if (!mine || !(*mine)->near()->begin_writing() || (*mine)->try_send(parts).bytes != 1) ::_exit(1);
        if (::fork() == 0) {
            char end = 0;
            ::_exit(::read(held[0], &end, 1) == 0 ? 0 : 1);  // until the test is over
        }
        ::raise(SIGKILL);
    }
    ::close(held[0]);
    auto accepted = run(loop, server->accept());
    REQUIRE(accepted);
    pump reading{**accepted, {}, 1, [&] {
                     if (loop.here()) loop.stop();
                 }};
    reading.start_receiving();
    if (reading.received_bytes() == 0) loop.run();
    CHECK(reading.received_bytes() == 1);
    CHECK(dies_by_itself(child));
    (*accepted)->near()->revoke();
    CHECK_FALSE((*accepted)->near()->revoked());  // only this side has
    ::close(held[1]);
}

TEST_CASE("an address of another host or of no kind is refused before anything is tried") {
    event_loop loop;
    const auto client = listening(loop);
    for (const std::string address : {"", "shm5:", "shm5:elsewhere/name", "127.0.0.1:80"}) {
        CAPTURE(address);
        const auto nothing = run(loop, client->connect(address, no_deadline));
        REQUIRE_FALSE(nothing);
        CHECK(nothing.failure().code() == error::invalid_argument);
    }
    CHECK(client->address().starts_with("shm5:"));
    CHECK(client->reaches(listening(loop)->address()));
}

TEST_CASE("a stranger who sends no memory, or memory of another kind, gets an error and nothing else") {
    event_loop loop;
    const auto server = listening(loop);
    const auto name = name_in(server->address());
    const auto knock = [&] { return std::move(connect_locally(name)).value(); };
    const auto accepted = [&] { return std::move(run(loop, server->accept())).value(); };

    auto silent = knock();
    auto link = accepted();
    silent = file_descriptor();
    CHECK(end_of(loop, *link) == error::peer_died);

    auto without = knock();
    CHECK(send_byte(without.number(), 'm'));
    link = accepted();
    CHECK(end_of(loop, *link) == error::protocol_error);

    auto small = knock();
    const auto page = std::move(make_shared_file("small", 4096)).value();
    CHECK(send_byte(small.number(), 'm', &page));
    link = accepted();
    CHECK(end_of(loop, *link) == error::protocol_error);
    const std::byte one[1] = {};
    const std::span<const std::byte> parts[] = {one};
    CHECK(link->try_send(parts).code == error::protocol_error);
}

TEST_CASE("of two files that come in one message one is taken, and none is left open") {
    int both[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
    const file_descriptor near(both[0]), far(both[1]);
    const auto open_files = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(std::filesystem::begin(all), std::filesystem::end(all));
    };
    const auto before = open_files();
    const int files[] = {near.number(), far.number()};
    char text = 'm';
    iovec place{&text, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)]{};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(head), files, sizeof files);
    REQUIRE(::sendmsg(near.number(), &message, 0) == 1);
    {
        const local_news news = hear_news(far.number());
        CHECK(news.bytes == 1);
        CHECK(news.file);
        CHECK(open_files() == before + 1);
    }
    CHECK(open_files() == before);
}

TEST_CASE("a link ends when an arena comes that cannot be mapped, with the reason") {
    event_loop loop;
    std::string name;
    const auto door = std::move(listen_locally(name)).value();
    const auto client = listening(loop);
    const std::string here = client->address();
    const auto mine = std::move(client->try_connect(here.substr(0, here.rfind('/') + 1) + name)).value();
    const file_descriptor stranger(::accept4(door.number(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(stranger);
    const file_descriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
    REQUIRE(::ftruncate(unsealed.number(), 4096) == 0);
    CHECK(send_byte(stranger.number(), 'a', &unsealed));
    CHECK(end_of(loop, *mine) == error::protocol_error);
}

TEST_CASE("memory whose size may still change is not mapped") {
    char name[] = "/tmp/tutti-shm-test-XXXXXX";
    const file_descriptor file(::mkstemp(name));
    REQUIRE(file);
    ::unlink(name);
    REQUIRE(::ftruncate(file.number(), 4096) == 0);
    CHECK(mapping::of(file, mapping::access::read).failure().code() == error::protocol_error);
    const auto sealed = std::move(make_shared_file("sealed", 4096)).value();
    auto mapped = mapping::of(sealed, mapping::access::read);
    REQUIRE(mapped);
    CHECK(mapped->size() == 4096);
    CHECK_FALSE(mapping::of(file_descriptor(), mapping::access::read));
    CHECK(::ftruncate(sealed.number(), 0) != 0);
}

TEST_CASE("where shared memory cannot be had TCP takes its place, and one sentence says why") {
    host_stage on;
    const auto client = on.make();
    const auto server = on.make();
    const auto near = server->address().substr(server->address().find(' ') + 1);

    // A rank whose memory no other rank can reach: no socket listens at the name.
    const auto lost = server->address().substr(0, server->address().size() - 1) + "?";
    for (int twice = 0; twice < 2; ++twice) {
        auto over = run(on.loop(), client->connect(lost, on.loop().now() + std::chrono::seconds{5}));
        REQUIRE(over);
        CHECK(server->address().starts_with((*over)->peer() + " "));
        CHECK(run(on.loop(), server->accept()));
    }
    CHECK(on.told == "no shared memory with " + lost + ", but TCP: nobody listens there");

    // A rank on another host.
    const auto tcp = server->address().substr(0, server->address().find(' '));
    for (const auto& address : {tcp, tcp + " shm5:elsewhere/name"}) {
        auto over = run(on.loop(), client->connect(address, on.loop().now() + std::chrono::seconds{5}));
        REQUIRE(over);
        CHECK((*over)->peer() == tcp);
    }
    auto shared = run(on.loop(), client->connect(server->address(), on.loop().now() + std::chrono::seconds{5}));
    CHECK((*shared)->peer() == near);
    CHECK(on.told.find("elsewhere") == std::string::npos);
}

TEST_CASE("who finds a full queue of connections waits for his turn, and does not take TCP") {
    host_stage on;
    const auto client = on.make();
    const auto server = on.make();
    const std::vector<file_descriptor> waiting = fill_queue(name_in(server->address()));
    background coming(on.loop(), client->connect(server->address(), on.loop().now() + std::chrono::seconds{20}));
    for (std::size_t index = 0; index < waiting.size(); ++index) CHECK(run(on.loop(), server->accept()));
    auto mine = run(on.loop(), server->accept());
    REQUIRE(mine);
    CHECK((*mine)->peer().starts_with("shm:"));
    while (!coming.ended()) run(on.loop(), one_turn());
    auto made = coming.take();
    REQUIRE(made);
    CHECK((*made)->peer().starts_with("shm5:"));
    CHECK(on.told.empty());
}

TEST_CASE("who waits for his turn in a full queue until his time is up is told of the queue, and not of TCP") {
    host_stage on;
    const auto client = on.make();
    const auto server = on.make();
    const std::vector<file_descriptor> waiting = fill_queue(name_in(server->address()));
    const auto made = run(on.loop(), client->connect(server->address(), on.loop().now() + std::chrono::milliseconds{20}));
    REQUIRE_FALSE(made);
    CHECK(made.failure().code() == error::timed_out);
    CHECK(made.failure().details().cause.find("more wait to be accepted there than its queue holds") != std::string::npos);
}

TEST_CASE("a process without descriptors for shared memory says so in the reason") {
    event_loop loop;
    const auto client = listening(loop);
    const auto server = listening(loop);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    std::vector<file_descriptor> filling;
    int highest = 0;
    for (;;) {
        file_descriptor next(::dup(0));
        if (!next) break;
        highest = next.number();
        filling.push_back(std::move(next));
        if (filling.size() > 8) break;
    }
    few.rlim_cur = static_cast<rlim_t>(highest) + 1;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const auto nothing = client->try_connect(server->address());
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE_FALSE(nothing);
    CHECK(std::string(nothing.failure().what()).find("Too many open files") != std::string::npos);
}

}  // namespace tutti::test
