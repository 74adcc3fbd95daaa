#include <tutti/detail/future_source.hpp>
#include <tutti/persistent.hpp>

#include "engine/engine.hpp"
#include "engine/repeated_call.hpp"

namespace tutti {

void detail::repeated_call_deleter::operator()(repeated_call* which) const noexcept {
    std::unique_ptr<repeated_call> call(which);
    if (!call->engine().made().here()) leave_alone(std::move(call));
}

future<> persistent::start() {
    if (!call_) throw failure(error::invalid_argument, "a persistent call that is empty was started");
    if (const birthplace& made = call_->engine().made(); !made.here()) return detail::failed_future(made.foreign("persistent call"));
    return future<>(call_->engine().issue(*call_));
}

void persistent::check(future<> made) const {
    if (made.valid())
        throw failure(error::invalid_argument, "a persistent call was issued at once: it hands on the call_options that it is given");
    if (!call_) throw failure(error::invalid_argument, "a persistent call has called no communicator");
}

}  // namespace tutti
