#include "runtime/asio.hpp"

#include "runtime/loop_state.hpp"
#include "runtime/readiness.hpp"

#include <tutti/detail/bound_task.hpp>

#include <memory>

namespace tutti {

asio::io_context& io_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    if (!state.io_used) detail::readiness_of(state.own_io());  // Asio would open it later, while the first socket is made
    state.io_used = true;
    return state.own_io();
}

void look_again(event_loop& loop) {
    if (const auto& guest_state = loop.inner().guest_state) guest_state->look_again();
}

namespace detail {

task_group& residents_of(event_loop& loop) {
    auto& residents = loop.inner().residents;
    if (!residents) residents.emplace(loop, task_group::frames::owned);
    return *residents;
}

std::optional<failure> hindrance(const promise_base* work) {
    if (!work) return failure(error::invalid_argument, "the task was moved away");
    if (!work->bound_loop()) return failure(error::invalid_argument, "this task does not know a loop: start it with async_run(loop, task, token)");
    const auto& made = work->bound_loop()->inner().made;
    if (!made.here()) return made.foreign("event loop");
    return {};
}

void start_bound(event_loop& loop, task<> work) {
    auto coming = std::make_shared<task<>>(std::move(work));
    const bool sent = loop.inner().newcomers.send([&loop, coming] { residents_of(loop).start(coming->release()); });
    (void)sent;  // if not, the task is destroyed with the letter
}

void queue_call(event_loop& loop, std::unique_ptr<queued_call> what) {
    asio::post(io_of(loop), [what = std::move(what)] { what->run(); });
}

}  // namespace detail

}  // namespace tutti
