#include "communicator/home.hpp"

#include "communicator/group.hpp"
#include "transport/tcp_transport.hpp"

#include "base/check.hpp"

namespace tutti {

context::state::state(context_options options)
    : options_(options), own_loop_(std::make_unique<event_loop>()), loop_(own_loop_.get()), letters_(*loop_), work_(*loop_),
      thread_([this] { loop_->run(); }) {}

context::state::state(event_loop& progress, std::unique_ptr<transport> network, context_options options)
    : options_(options), loop_(&progress), network_(std::move(network)), letters_(*loop_), work_(*loop_) {}

context::state::~state() { TUTTI_CHECK(stopped_ && groups_.empty(), "a context stops before its state is destroyed"); }

transport& context::state::network(const std::string& address) {
    if (!network_) {
        auto listening = tcp_transport::listen(*loop_, tcp_options(address));
        network_ = std::move(listening).value();
    }
    if (!door_) door_ = std::make_unique<doorman>(*loop_, *network_, options_.handshake, options_.rendezvous);
    return *network_;
}

void context::state::remove(detail::group& which, visited& guest) noexcept {
    std::erase(groups_, &which);
    if (door_) door_->remove(guest);
}

void context::state::end_all() noexcept {
    for (auto* each : groups_) each->end();
    work_.clear();
    door_.reset();
    if (network_) network_->close();
}

void context::state::stop() noexcept {
    if (stopped_) return;
    if (thread_.joinable()) {
        letters_.send([this] {
            end_all();
            loop_->stop();
        });
        thread_.join();
    } else {
        end_all();
    }
    stopped_ = true;
    groups_.clear();
    letters_.close();
    network_.reset();
}

// ---- context

context::context(context_options options) : state_(std::make_shared<state>(options)) {}
context::context(event_loop& progress, std::unique_ptr<transport> network, context_options options)
    : state_(std::make_shared<state>(progress, std::move(network), options)) {}
context::~context() { state_->stop(); }

event_loop& context::progress() noexcept { return state_->loop(); }

}  // namespace tutti
