#include "handshake/multiplexed_links.hpp"

#include "base/bytes.hpp"
#include "handshake/greeting.hpp"
#include "runtime/notified.hpp"

namespace tutti {
namespace {

constexpr std::uint64_t destination = digest_of("shared links");        // in the place of a communicator
constexpr duration crossing_patience = std::chrono::milliseconds(200);  // the peer's call may be given up: then this process dials again

}  // namespace

multiplexed_links::multiplexed_links(event_loop& loop, transport& network, link_acceptor& acceptor)
    : loop_(loop), network_(network), acceptor_(acceptor), work_(loop) {
    acceptor_.add(*this);
}

multiplexed_links::~multiplexed_links() {
    work_.clear();
    acceptor_.remove(*this);
    for (const auto& each : links_) each->close();
}

std::uint64_t multiplexed_links::id() const noexcept { return destination; }

task<result<std::unique_ptr<link>>> multiplexed_links::open(hello who, std::string mine, std::string address, time_point connected,
                                                       time_point answered) {
    peer& at = peers_[digest_of(address)];
    while (!at.over) {
        const bool tells_why = at.dialling && at.until <= connected;  // the call has ended by then
        if (loop_.now() >= connected && !tells_why)
            co_return not_opened(who, address, failure(error::timed_out, "no link between the two processes came in time"));
        if (!at.dialling) {
            at.dialling = true;
            at.mine = digest_of(mine);
            at.until = answered;
            at.why.reset();
            work_.start(dial(at, who, address));
            continue;
        }
        co_await notified(changed_, tells_why ? no_deadline : connected);
        if (!at.over && !at.dialling && at.why) co_return *at.why;
    }
    co_return at.over->open();
}

/// Ends with a link, with a reason, or with neither if the peer's own call was to count, and did not come.
task<> multiplexed_links::dial(peer& at, hello who, std::string address) {
    who.group = destination;
    who.process = at.mine;
    who.lane = lane_kind::control;
    const std::uint64_t process = digest_of(address);
    auto made = co_await open_link(network_, std::move(address), who, at.until);
    if (!made) at.why = made.failure();
    else if (*made) keep(process, std::move(*made), multiplexed_link::side::dialled);
    const time_point limit = later(loop_.now(), crossing_patience);
    while (made && !at.over && loop_.now() < limit) co_await notified(changed_, limit);
    at.dialling = false;
    changed_.notify_all();
}

reply multiplexed_links::answer_hello(const hello& from) {
    const auto at = peers_.find(from.process);
    const bool crossing = at != peers_.end() && at->second.dialling && at->second.mine < from.process;
    return {crossing ? answer::crossed : answer::welcome, {}};
}

void multiplexed_links::take_link(const hello& from, std::unique_ptr<link> over) {
    keep(from.process, std::move(over), multiplexed_link::side::accepted);
}

void multiplexed_links::keep(std::uint64_t process, std::unique_ptr<link> over, multiplexed_link::side which) {
    const std::shared_ptr<multiplexed_link> made(new multiplexed_link(loop_, std::move(over), which, *this));
    links_.push_back(made);
    peers_[process].over = made;
    made->start();
    changed_.notify_all();
}

void multiplexed_links::ended(multiplexed_link& which) noexcept {
    for (auto& [process, at] : peers_)
        if (at.over.get() == &which) at.over.reset();
    std::erase_if(links_, [&which](const auto& each) { return each.get() == &which; });
}

}  // namespace tutti
