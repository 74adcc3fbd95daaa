// What every link and every transport promises, for each of them.
#include "pump.hpp"
#include "stage.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace tutti;
using namespace tutti::test;

namespace {

struct kind {
    const char* name;
    std::unique_ptr<stage> (*make)();
};

template <class Stage>
std::unique_ptr<stage> make_stage() {
    return std::make_unique<Stage>();
}

constexpr kind kinds[] = {{"memory", make_stage<memory_stage>}, {"simulated", make_stage<simulated_stage>}};

/// Runs `body` once for every kind of transport.
void on_every_kind(const std::function<void(stage&)>& body) {
    for (const auto& kind : kinds) {
        CAPTURE(kind.name);
        const auto on = kind.make();
        body(*on);
    }
}

/// Stops the loop when it has been called `count` times.
class countdown {
public:
    countdown(event_loop& loop, int count) : loop_(loop), left_(count) {}
    std::function<void()> one() {
        return [this] {
            if (--left_ == 0) loop_.stop();
        };
    }
    int left() const { return left_; }

private:
    event_loop& loop_;
    int left_;
};

class counting final : public detail::runnable {
public:
    void run() noexcept override { ++runs; }
    int runs = 0;
};

}  // namespace

TEST_CASE("both directions of a link carry any number of bytes at once, unchanged and in order") {
    on_every_kind([](stage& on) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{65'537}, 8 * MiB}) {
            CAPTURE(size);
            connected pair{on};
            const auto there = random_bytes(size, 1);
            const auto back = random_bytes(size, 2);
            countdown ends{on.loop(), 2};
            pump one{*pair.ends.one, there, back.size(), ends.one()};
            pump other{*pair.ends.other, back, there.size(), ends.one()};
            one.start();
            other.start();
            on.loop().run();
            REQUIRE(ends.left() == 0);
            CHECK(one.received() == back);
            CHECK(other.received() == there);
            CHECK(!one.send_code());
            CHECK(!one.recv_code());
        }
    });
}

TEST_CASE("a sender has to wait when nobody receives, and goes on when somebody does") {
    on_every_kind([](stage& on) {
        connected pair{on};
        const auto sent = random_bytes(on.too_much(), 3);
        countdown ends{on.loop(), 2};
        pump one{*pair.ends.one, sent, 0, ends.one()};
        pump other{*pair.ends.other, {}, sent.size(), ends.one()};
        one.start_sending();
        CHECK(one.waits() == 1);
        CHECK(one.sent_bytes() > 0);
        CHECK(one.sent_bytes() < sent.size());
        other.start_receiving();
        on.loop().run();
        REQUIRE(ends.left() == 0);
        CHECK(other.received() == sent);
    });
}
