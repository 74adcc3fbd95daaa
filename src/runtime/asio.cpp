#include "runtime/asio.hpp"

#include "base/descriptors.hpp"
#include "runtime/loop_state.hpp"

#include <tutti/error.hpp>

namespace tutti {

/// What the kernel tells of sockets through; Asio opens it for the first of them, in the middle of whatever makes that.
static void open_reactor(asio::io_context& io) {
    try {
        const asio::steady_timer needs_it(io);
    } catch (const boost::system::system_error& why) {
        const std::error_code code = why.code();
        throw failure(error::system, out_of_descriptors(code) ? "this process has " + no_descriptor_left("an event loop", code)
                                                              : std::string("there can be no event loop: ") + why.what());
    }
}

asio::any_io_executor executor_of(event_loop& loop) {
    event_loop::impl& state = loop.inner();
    if (state.place) return state.place->executor();
    if (!state.io_used) open_reactor(state.own_io());
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
