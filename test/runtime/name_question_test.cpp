#include "runtime/name_question.hpp"

#include <tutti/event_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

using namespace tutti;

namespace {

/// Stops the loop when it is called.
class answered final : public detail::runnable {
public:
    explicit answered(event_loop& loop) noexcept : loop_(loop) {}
    void run() noexcept override {
        ++times;
        loop_.stop();
    }
    int times = 0;

private:
    event_loop& loop_;
};

}  // namespace

TEST_CASE("a name that this host knows leads to addresses with the port that was asked for") {
    event_loop loop;
    answered told(loop);
    const name_question asked(loop, "localhost", 4711, told);
    loop.run();
    CHECK(told.times == 1);
    REQUIRE_FALSE(asked.endpoints().empty());
    CHECK(std::all_of(asked.endpoints().begin(), asked.endpoints().end(),
                      [](const asio::ip::tcp::endpoint& one) { return one.address().is_loopback() && one.port() == 4711; }));
    CHECK(asked.reason().empty());
}

TEST_CASE("a name that means nothing is told with the reason") {
    event_loop loop;
    answered told(loop);
    const name_question asked(loop, "no such name.invalid", 4711, told);
    loop.run();
    CHECK(told.times == 1);
    CHECK(asked.endpoints().empty());
    CHECK_FALSE(asked.reason().empty());
}

TEST_CASE("a question that is not wanted any more is forgotten, whether its answer has come or not") {
    event_loop loop;
    answered told(loop), last(loop);
    for (int i = 0; i < 50; ++i) {
        std::optional<name_question> asked;
        asked.emplace(loop, "localhost", 4711, told);
        if (i % 2 == 1) std::this_thread::yield();
    }
    const name_question asked(loop, "localhost", 4711, last);
    loop.run();
    CHECK(told.times == 0);
    CHECK(last.times == 1);
}
