#include "base/quiet_thread.hpp"

#include "support/signals.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

bool blocks(int signal) {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return ::sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a thread of the library takes no signal but its own faults, and the thread that starts it takes what it took before") {
    std::vector<bool> blocked(static_cast<std::size_t>(SIGRTMAX) + 1);
    quiet_thread quiet([&blocked] {
        for (int signal = 1; signal <= SIGRTMAX; ++signal) blocked[static_cast<std::size_t>(signal)] = blocks(signal);
    });
    quiet.join();
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPROF, SIGABRT, SIGRTMIN, SIGRTMAX}) {
        CAPTURE(signal);
        CHECK(blocked[static_cast<std::size_t>(signal)]);
        CHECK_FALSE(blocks(signal));
    }
    for (const int fault : test::faults) CHECK_FALSE(blocked[static_cast<std::size_t>(fault)]);
}

TEST_CASE("a signal that was blocked before stays blocked after a thread was started") {
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    quiet_thread([] {}).join();
    CHECK(blocks(SIGUSR1));
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}
