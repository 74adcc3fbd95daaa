#include "runtime/asio.hpp"

#include "runtime/loop_state.hpp"

namespace tutti {

asio::any_io_executor executor_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    if (state.place) return state.place->executor();
    state.io_used = true;
    return state.own_io().get_executor();
}

namespace detail {

family& residents_of(event_loop& loop) {
    auto& residents = loop.inner().residents;
    if (!residents) residents.emplace(loop, family::frames::owned);
    return *residents;
}

}  // namespace detail

}  // namespace tutti
