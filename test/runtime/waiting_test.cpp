#include "runtime/poll_source.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

using namespace tutti;

namespace {

/// Every yield in this program takes as long at least.
std::atomic<duration> yields_take{};

}  // namespace

int sched_yield() noexcept {
    const auto until = std::chrono::steady_clock::now() + yields_take.load();
    do ::syscall(SYS_sched_yield);
    while (std::chrono::steady_clock::now() < until);
    return 0;
}

namespace {

/// Is ready at its `needed`-th try, or once the kernel, which it plays itself, has been asked.
class probe final : public detail::poll_source {
public:
    probe(event_loop& loop, int needed) : poll_source(loop), needed_(needed) {}
    ~probe() { stop_waiting(); }

    int tries = 0;
    int asked = 0;
    bool ended = false;

private:
    void run() noexcept override {
        ++tries;
        ended = tries >= needed_ || answered_;
        if (ended) loop_.stop();
        else wait();
    }
    void arm() override {
        if (asked++ == 0) loop_.post(answer_);
    }
    void answer() noexcept {
        answered_ = true;
        ready();
    }

    int needed_;
    bool answered_ = false;
    detail::callback<&probe::answer> answer_{*this};
};

}  // namespace

TEST_CASE("what is not expected soon is the kernel's, and tried once that has answered") {
    event_loop loop;
    probe one(loop, 1000);
    one.wait();
    loop.run();
    CHECK(one.ended);
    CHECK(one.tries == 1);
    CHECK(one.asked >= 1);
}

TEST_CASE("what is expected soon is tried until it is ready") {
    event_loop loop;
    probe one(loop, 3);
    one.expect(true);
    one.wait();
    loop.run();
    CHECK(one.ended);
    CHECK(one.tries >= 1);
    CHECK(one.tries <= 3);
}

TEST_CASE("what has come while others had the core is tried, and the kernel is not asked") {
    yields_take = std::chrono::milliseconds{1};
    event_loop loop;
    probe one(loop, 2);
    one.expect(true);
    one.wait();
    loop.run();
    yields_take = duration{};
    CHECK(one.tries == 2);
    CHECK(one.asked == 0);
}

TEST_CASE("an expectation may come and go while one waits") {
    event_loop loop;
    probe one(loop, 2), other(loop, 1000);
    one.wait();
    one.expect(true);
    other.expect(true);
    other.wait();
    other.expect(false);
    loop.run();
    if (!one.ended || !other.ended) loop.run();
    CHECK(one.ended);
    CHECK(other.ended);
    CHECK(other.tries <= 2);
}

namespace {

/// Expected soon, never ready, and each try makes work, as a coroutine does that looks for itself.
class restless final : public detail::poll_source {
public:
    explicit restless(event_loop& loop) : poll_source(loop) {
        expect(true);
        wait();
    }
    ~restless() {
        stop_waiting();
        loop_.withdraw(work_);
    }

private:
    void run() noexcept override { loop_.post(work_); }
    void arm() override {}
    void look() noexcept { wait(); }
    detail::callback<&restless::look> work_{*this};
};

}  // namespace

TEST_CASE("tries that find nothing do not keep the loop from asking the kernel") {
    event_loop loop;
    restless one(loop);
    probe other(loop, 1000);
    other.wait();
    loop.run();
    CHECK(other.ended);
    CHECK(other.tries == 1);
}

namespace {

/// Expected soon, and never ready.
class in_vain final : public detail::poll_source {
public:
    explicit in_vain(event_loop& loop) : poll_source(loop) {
        expect(true);
        wait();
    }
    ~in_vain() { stop_waiting(); }

    int tries = 0, asked = 0;

private:
    void run() noexcept override {
        ++tries;
        wait();
    }
    void arm() override { ++asked; }
};

/// Has so much to do, and leaves the loop to others after each part of it.
class considerate final : public detail::poll_source {
public:
    considerate(event_loop& loop, int parts) : poll_source(loop), parts_(parts) { wait_a_turn(); }
    ~considerate() { stop_waiting(); }

private:
    void run() noexcept override {
        if (--parts_ > 0) wait_a_turn();
        else loop_.stop();
    }
    void arm() override { ready(); }

    int parts_;
};

}  // namespace

TEST_CASE("who leaves a turn to others lets them be tried, and the loop does not ask the kernel as if it slept") {
    event_loop loop, helper;
    helper.help(&loop);  // so that the loop does not spin
    in_vain other(loop);
    considerate one(loop, 1000);
    loop.run();
    CHECK(other.tries == 1000);
    CHECK(other.asked == 0);
    helper.help(nullptr);
}

TEST_CASE("who does not wait any more is not tried") {
    event_loop loop;
    probe one(loop, 1), other(loop, 1);
    one.expect(true);
    one.wait();
    other.wait();
    {
        probe gone(loop, 1);
        gone.expect(true);
        gone.wait();
    }
    loop.run();
    if (!other.ended) loop.run();
    CHECK(one.tries == 1);
    CHECK(other.tries == 1);
}

TEST_CASE("with virtual time the kernel is asked before the clock moves") {
    event_loop loop{event_loop::virtual_time};
    probe one(loop, 1000);
    one.expect(true);
    one.wait();
    loop.run();
    CHECK(one.ended);
    CHECK(one.tries == 1);
}
