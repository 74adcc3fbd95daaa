#include "runtime/asio.hpp"

#include "runtime/loop_state.hpp"
#include "runtime/readiness.hpp"

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

void queue_call(event_loop& loop, std::unique_ptr<queued_call> what) {
    asio::post(io_of(loop), [what = std::move(what)] { what->run(); });
}

}  // namespace detail

}  // namespace tutti
