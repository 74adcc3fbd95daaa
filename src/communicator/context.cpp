#include <tutti/context.hpp>

#include "group/context_state.hpp"

namespace tutti {

context::context(context_options options) : state_(std::make_shared<detail::context_state>(options)) {}
context::context(event_loop& progress, std::unique_ptr<transport> network, context_options options)
    : state_(std::make_shared<detail::context_state>(progress, std::move(network), options)) {}
context::~context() {
    if (state_->made().here()) state_->stop();
    else leave_alone(std::move(state_));
}

event_loop& context::progress() noexcept { return state_->loop(); }

}  // namespace tutti
