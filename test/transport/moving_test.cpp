// Links that go on on another loop, in the middle of their stream.
#include "pump.hpp"
#include "stage.hpp"
#include "support/running_loop.hpp"

#include "runtime/run_on.hpp"

#include <doctest/doctest.h>

#include <atomic>

namespace tutti::test {
namespace {

/// Memory, between loops in real time.
class timely_memory_stage final : public stage {
public:
    event_loop& loop() override { return loop_; }
    std::unique_ptr<transport> make() override { return std::make_unique<memory_transport>(loop_, network_); }
    std::size_t too_much() const override { return 64 * KiB; }

private:
    event_loop loop_;
    memory_network network_{1000};
};

std::unique_ptr<stage> stage_of(const std::string& kind) {
    if (kind == "memory") return std::make_unique<timely_memory_stage>();
    if (kind == "tcp") return std::make_unique<tcp_stage>();
    return std::make_unique<shm_stage>();
}

}  // namespace

TEST_CASE("a link moves to another loop in the middle of its stream, in both directions") {
    for (const std::string kind : {"memory", "tcp", "shm"}) {
        CAPTURE(kind);
        const auto on = stage_of(kind);
        connected pair{*on};
        running_loop second;
        const bytes there = random_bytes(1'000'000, 1), back = random_bytes(800'000, 2);
        {
            // Some bytes are taken before, and some wait in the link.
            pump before{*pair.ends.other, bytes(back.begin(), back.begin() + 500), 0, nullptr};
            pump taken{*pair.ends.one, {}, 100, [&] { on->loop().stop(); }};
            before.start();
            taken.start();
            on->loop().run();
            REQUIRE(taken.received() == bytes(back.begin(), back.begin() + 100));
        }
        const std::string name = pair.ends.one->peer();
        std::unique_ptr<link> moved;
        run_on(second.loop, [&] { moved = pair.ends.one->move_to(second.loop); });
        REQUIRE(moved != nullptr);
        pair.ends.one.reset();
        CHECK(moved->peer() == name);
        std::atomic<bool> ended{false};
        pump one{*moved, there, back.size() - 100, [&] { ended = true; }};
        pump other{*pair.ends.other, bytes(back.begin() + 500, back.end()), there.size(), [&] { on->loop().stop(); }};
        run_on(second.loop, [&] { one.start(); });
        other.start();
        on->loop().run();
        while (!ended) std::this_thread::yield();
        CHECK(other.received() == there);
        CHECK(one.received() == bytes(back.begin() + 100, back.end()));
        run_on(second.loop, [&] { moved.reset(); });
        pump rest{*pair.ends.other, {}, 1, [&] { on->loop().stop(); }};
        rest.start();
        if (!rest.ended()) on->loop().run();
        CHECK(rest.recv_code() == error::peer_died);
    }
}

TEST_CASE("a link that cannot leave its loop says so, and goes on there") {
    simulated_stage on;
    connected pair{on};
    event_loop other(event_loop::virtual_time);
    CHECK(pair.ends.one->move_to(other) == nullptr);
    pump sends{*pair.ends.one, random_bytes(100, 1), 0, nullptr};
    pump takes{*pair.ends.other, {}, 100, nullptr};
    sends.start();
    takes.start();
    on.loop().run();
    CHECK(takes.received() == random_bytes(100, 1));
}

}  // namespace tutti::test
