#include "handshake/link_acceptor.hpp"

#include "base/descriptors.hpp"
#include "handshake/greeting.hpp"
#include "runtime/notified.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

namespace tutti {
namespace {

// Groups that are remembered after their end, so that a late hello is refused at once. One for a forgotten group waits for `patience`.
constexpr std::size_t ended_limit = 16'384;

}  // namespace

link_acceptor::link_acceptor(event_loop& loop, transport& network, duration handshake, duration patience)
    : loop_(loop), network_(network), handshake_(handshake), patience_(patience), work_(loop) {
    work_.start(serve());
}

void link_acceptor::add(link_destination& group) {
    groups_[group.id()] = &group;
    changed_.notify_all();
}

void link_acceptor::remove(link_destination& group) noexcept {
    if (find(group.id()) != &group) return;
    groups_.erase(group.id());
    ended_.push_back(group.id());
    ended_ids_.insert(group.id());
    if (ended_.size() <= ended_limit) return;
    ended_ids_.erase(ended_.front());
    ended_.pop_front();
}

/// Returns whether a hello waits in vain for its group. A peer opens lanes for data only when the group has formed, so the group has been
/// here. A group that has ended does not come again, because no two have the same id.
bool link_acceptor::is_over(const hello& who) const noexcept {
    return who.lane != lane_kind::control || ended_ids_.contains(who.group);
}

link_destination* link_acceptor::find(std::uint64_t id) noexcept {
    const auto found = groups_.find(id);
    return found == groups_.end() ? nullptr : found->second;
}

task<> link_acceptor::serve() {
    for (;;) {
        auto next = co_await network_.accept();
        if (!next) {
            if (next.failure().code() == error::closed) co_return;
            if (out_of_descriptors(next.failure().code())) exhausted(next.failure().code());
            co_await sleep_for(std::chrono::milliseconds(10));  // out of descriptors, for example: links may end meanwhile
            continue;
        }
        begin(std::move(*next), arrival::link);
        while (half_open_ >= half_open_limit) co_await room_.wait();  // further peers wait in the system's queue
        co_await yield();                                             // other work of the loop goes on while many peers come at once
    }
}

/// Informs all groups: without a descriptor there is no hello, so the group of the link is unknown. The call may remove groups.
void link_acceptor::exhausted(std::error_code why) noexcept {
    const auto all = groups_;
    for (const auto& [id, each] : all)
        if (groups_.contains(id)) each->exhausted(why);
}

void link_acceptor::greet_stream(std::unique_ptr<link> over) {
    if (streams_ < stream_limit) begin(std::move(over), arrival::stream);
    else ++turned_away_;
}

void link_acceptor::begin(std::unique_ptr<link> over, arrival as) {
    ++(as == arrival::link ? half_open_ : streams_);
    work_.start(greet(std::move(over), as));
}

/// A stranger or a silent peer costs one link and a count, not the acceptor.
task<> link_acceptor::greet(std::unique_ptr<link> over, arrival as) {
    try {
        auto answering = listen_and_answer(over, as);
        co_await std::move(answering);
    } catch (const failure&) {
        ++turned_away_;
    }
    --(as == arrival::link ? half_open_ : streams_);
    room_.notify_all();
}

task<> link_acceptor::listen_and_answer(std::unique_ptr<link>& over, arrival as) {
    auto heard = co_await with_deadline(hear_hello(*over), handshake_);
    if (!heard && out_of_descriptors(heard.failure().code())) exhausted(heard.failure().code());
    if (!heard && heard.failure().code() == error::unsupported) {
        const reply no{answer::refused, heard.failure().details().cause};
        (co_await with_deadline(send_reply(*over, no), handshake_)).value();
    }
    const hello who = std::move(heard).value();
    reply what{answer::refused, fmt::format("this is another job than yours")};
    link_destination* group = nullptr;
    if (jobs_.contains(who.job)) {
        // The peer may have formed the communicator before this rank.
        const time_point limit = later(loop_.now(), patience_);
        while (!(group = find(who.group)) && !is_over(who) && loop_.now() < limit) co_await notified(changed_, limit);
        if (group && as == arrival::link && group->takes_stream(who)) what = {answer::stream, {}};
        else if (group) what = group->answer_hello(who);
        else what.why = "no such communicator here";
    }
    const bool welcome = what.what == answer::welcome;
    if (!welcome) ++turned_away_;
    (co_await with_deadline(send_reply(*over, what), handshake_)).value();
    if (welcome && (group = find(who.group))) group->take_link(who, std::move(over));
}

}  // namespace tutti
