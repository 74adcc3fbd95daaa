#include "runtime/asio.hpp"

#include "runtime/loop_state.hpp"
#include "runtime/readiness.hpp"

#include <tutti/detail/at_home.hpp>

namespace tutti {

asio::io_context& io_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    if (!state.io_used) detail::readiness_of(state.own_io());  // what Asio would open in the middle of whatever makes its first socket
    state.io_used = true;
    return state.own_io();
}

void look_again(event_loop& loop) {
    if (const auto& place = loop.inner().place) place->look_again();
}

namespace detail {

family& residents_of(event_loop& loop) {
    auto& residents = loop.inner().residents;
    if (!residents) residents.emplace(loop, family::frames::owned);
    return *residents;
}

namespace {

/// A task that was started on another thread, until its loop has a turn.
class newcomer final : runnable, dependent {
public:
    newcomer(event_loop& loop, task<> work) : dependent(loop), loop_(loop), work_(std::move(work)) {}
    void come() noexcept { loop_.post(*this); }

private:
    void run() noexcept override {
        residents_of(loop_).start(work_.release());
        delete this;
    }
    void loop_goes() noexcept override {
        loop_.withdraw(*this);
        delete this;
    }

    event_loop& loop_;
    task<> work_;
};

}  // namespace

std::optional<failure> hindrance(const promise_base* work) {
    if (!work) return failure(error::invalid_argument, "the task was moved away");
    if (!work->home()) return failure(error::invalid_argument, "this task does not know a loop: start it with async_run(loop, task, token)");
    const auto& made = work->home()->inner().made;
    if (!made.here()) return made.foreign("event loop");
    return {};
}

void start_resident(event_loop& loop, task<> work) {
    auto* const coming = new newcomer(loop, std::move(work));
    coming->come();
}

void queue_call(event_loop& loop, std::unique_ptr<queued_call> what) {
    asio::post(io_of(loop), [what = std::move(what)] { what->run(); });
}

}  // namespace detail

}  // namespace tutti
