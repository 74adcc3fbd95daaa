#include "runtime/asio.hpp"

#include "runtime/loop_state.hpp"

namespace tutti {

asio::any_io_executor executor_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    if (state.place) return state.place->executor();
    return state.own_io().get_executor();
}

asio::io_context* io_context_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    return state.place ? nullptr : &state.own_io();
}

}  // namespace tutti
