#include "group/context_state.hpp"

#include "group/group.hpp"
#include "group/notice.hpp"
#include "transport/host_transport.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

namespace tutti::detail {
namespace {

/// Opens the transport that the options ask for, or throws. `automatic` is shared memory within a host and TCP between hosts; where there
/// is no shared memory it is TCP alone, with a notice.
std::unique_ptr<transport> open_network(event_loop& loop, const std::string& address, const context_options& options,
                                        const std::shared_ptr<arena>& mine) {
    const auto tell = told_by(options);
    const auto listen_near = [&] { return shm_transport::listen(loop, mine, options.host); };
    if (options.transport == transport_kind::shm) return std::move(listen_near()).value();
    if (address.empty())
        throw failure(
            error::bad_launch,
            "no address is known under which the other ranks reach this one: world::master_address (MASTER_ADDR) is empty, or this host "
            "has no address but loopback");
    auto far = std::move(tcp_transport::listen(loop, tcp_options(address))).value();
    if (options.transport == transport_kind::tcp) return far;
    auto near = listen_near();
    if (near) return std::make_unique<host_transport>(loop, std::move(far), std::move(*near), tell);
    tell(fmt::format("no shared memory here, but TCP: {}", near.failure().what()));
    return far;
}

std::vector<std::unique_ptr<progress_thread>> further_threads(int threads) {
    std::vector<std::unique_ptr<progress_thread>> made;
    if (threads > most_lanes) return made;  // check_options refuses so many at the join
    for (int more = 1; more < threads; ++more) made.push_back(std::make_unique<progress_thread>());
    return made;
}

}  // namespace

context_state::context_state(context_options options)
    : options_(options),
      arena_(std::make_shared<arena>(options.transport != transport_kind::tcp)),
      further_(further_threads(options.threads)),
      own_loop_(std::make_unique<event_loop>()),
      loop_(own_loop_.get()),
      letters_(*loop_),
      work_(*loop_),
      thread_([this] { loop_->run(); }) {}

context_state::context_state(event_loop& progress, std::unique_ptr<transport> network, context_options options)
    : options_(options),
      arena_(std::make_shared<arena>(!network && options.transport != transport_kind::tcp)),
      loop_(&progress),
      own_network_(!network),
      network_(std::move(network)),
      letters_(*loop_),
      work_(*loop_) {
    with_loop_.emplace(progress, *this);
}

context_state::~context_state() { TUTTI_CHECK(stopped_ && groups_.empty(), "a context stops before its state is destroyed"); }

std::vector<event_loop*> context_state::further_loops() {
    std::vector<event_loop*> all;
    for (const auto& each : further_) all.push_back(&each->loop());
    return all;
}

transport& context_state::network(const std::string& address) {
    if (!network_) network_ = open_network(*loop_, address, options_, arena_);
    if (!acceptor_) {
        acceptor_ = std::make_unique<link_acceptor>(*loop_, *network_, options_.handshake, options_.rendezvous);
        multiplexed_links_ = std::make_unique<class multiplexed_links>(*loop_, *network_, *acceptor_);
    }
    return *network_;
}

arena_memory context_state::allocate(std::size_t bytes) {
    arena_memory made(arena_->allocate(bytes), {arena_, bytes});
    if (const auto why = arena_->why_not(); !why.empty() && !told_of_arena_.exchange(true))
        tell(fmt::format("memory is not shared: {}", why));
    return made;
}

void context_state::tell(const std::string& sentence) const { told_by(options_)(sentence); }

void context_state::remove(group& which, link_destination& guest) noexcept {
    std::erase(groups_, &which);
    if (acceptor_) acceptor_->remove(guest);
}

void context_state::end_all() noexcept {
    for (auto* each : groups_) each->end();
    work_.clear();
    multiplexed_links_.reset();
    acceptor_.reset();
    if (network_) network_->close();
}

void context_state::stop() noexcept {
    if (stopped_) return;
    if (thread_.joinable()) {
        letters_.send([this] {
            end_all();
            loop_->stop();
        });
        thread_.join();
        end_residents(*loop_);
    } else {
        end_all();
    }
    further_.clear();
    stopped_ = true;
    groups_.clear();
    letters_.close();
    network_.reset();
    with_loop_.reset();
}

}  // namespace tutti::detail
