// A program with an Asio loop of its own: Tutti makes its progress there, beside the program's timers and without any thread.
#include <tutti/asio.hpp>
#include <tutti/tutti.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

namespace asio = boost::asio;

/// Stands for the work that the program has without Tutti.
class clock_of_ours {
public:
    explicit clock_of_ours(asio::io_context& on) : timer_(on) { wait(); }
    int ticks() const { return ticks_; }

private:
    void wait() {
        timer_.expires_after(std::chrono::milliseconds(1));
        timer_.async_wait([this](boost::system::error_code stopped) {
            if (stopped) return;
            ++ticks_;
            wait();
        });
    }

    asio::steady_timer timer_;
    int ticks_ = 0;
};

tutti::task<float> average(tutti::context& home) {
    const auto who = tutti::world_from_environment().value();
    auto joining = home.join(who);
    const auto world = co_await std::move(joining);
    std::vector<float> numbers(1 << 20, static_cast<float>(world->rank()));
    for (int turn = 0; turn < 20; ++turn) co_await world->all_reduce(numbers, tutti::avg);
    auto closing = world->close();
    co_await std::move(closing);
    co_return numbers.back();
}

int main() {
    const auto options = tutti::with_environment({});
    if (!options) {
        std::fprintf(stderr, "guest: %s\n", options.failure().what());
        return 2;
    }
    asio::io_context io(1);
    tutti::event_loop guest{tutti::host(io.get_executor())};
    tutti::context home(guest, nullptr, *options);
    clock_of_ours clock(io);
    bool good = false;
    tutti::async_run(guest, average(home), [&](std::exception_ptr wrong, float result) {
        io.stop();
        try {
            if (wrong) std::rethrow_exception(wrong);
            std::printf("the average is %g, ticks of the clock meanwhile: %d\n", static_cast<double>(result), clock.ticks());
            good = true;
        } catch (const std::exception& why) {
            std::fprintf(stderr, "guest: %s\n", why.what());
        }
    });
    io.run();
    return good ? 0 : 1;
}
