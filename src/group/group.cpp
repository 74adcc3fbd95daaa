#include "group/group.hpp"

#include "base/bytes.hpp"
#include "base/descriptors.hpp"
#include "group/context_state.hpp"
#include "group/spawn.hpp"
#include "handshake/greeting.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tutti::detail {
namespace {

engine_settings with_warning(engine_settings all, duration stall_warning) {
    all.stall_warning = stall_warning;
    return all;
}

}  // namespace

membership child_of(const membership& parent, std::string name, std::string_view which) {
    membership child = parent;
    child.name = std::move(name);
    child.id = digest_of(which, parent.id);
    child.is_child = true;
    return child;
}

group::group(std::shared_ptr<context_state> context, membership who)
    : context_(std::move(context)),
      who_(std::move(who)),
      engine_(new class engine(context_->loop(), engine_identity{who_.name, who_.epoch, who_.me, size(), who_.hosts},
                               with_warning(who_.settings, context_->options().stall_warning), *this, context_->further_loops())),
      control_(context_->loop(), who_.me, size(), who_.epoch, *this),
      monitor_(context_->loop(), who_.me, size(), control_, *this),
      passages_(who_.addresses.size() * static_cast<std::size_t>(lane_kinds - 1 + who_.settings.lanes)),
      present_(who_.addresses.size()),
      work_(context_->loop()) {
    present_[static_cast<std::size_t>(who_.me)] = true;
    context_->add(*this);
    if (size() > 1) context_->acceptor().add(*this);
}

group::~group() {
    if (context_->stopped()) return;  // ended already, and the loop may be gone
    end();
    context_->remove(*this, *this);
}

failure group::foreign() const {
    report why = made().foreign("communicator").details();
    why.local = who_.me;
    why.communicator = who_.name;
    return failure(std::move(why));
}

hello group::hello_to(rank peer, lane_id which) const noexcept { return {who_.job, who_.id, who_.epoch, who_.me, peer, static_cast<int>(who_.addresses.size()), which}; }

/// A peer's row holds one lane of each kind, then the further bulk lanes.
group::passage& group::passage_to(rank peer, lane_id which) noexcept {
    const int index = which.index == 0 ? static_cast<int>(which.kind) : lane_kinds - 1 + which.index;
    return passages_[static_cast<std::size_t>(peer * (lane_kinds - 1 + who_.settings.lanes) + index)];
}

/// Returns the missing ranks, and a clause about the ranks whose words come by way of a missing one: of those nothing is known.
std::pair<std::string, std::string> group::missing(const std::vector<bool>& there) const {
    std::vector<rank> gone, behind;
    for (rank each = 0; each < size(); ++each)
        if (!there[static_cast<std::size_t>(each)])
            (there[static_cast<std::size_t>(control::next_towards(who_.me, each))] ? gone : behind).push_back(each);
    return {name_ranks(gone), behind.empty() ? "" : fmt::format(", nor did {}, by way of others that are missing", name_ranks(behind))};
}

// ---- links

/// Checks a peer's hello. If two ranks dial each other for the same lane at once, the lower rank's call counts: it answers `crossed`, and
/// the higher rank welcomes. After a failure control links are still let in, because control reports the failure over them.
reply group::answer_hello(const hello& from) {
    if (from.epoch != who_.epoch) return {answer::refused, fmt::format("epoch {} is over, this is epoch {}", from.epoch, who_.epoch)};
    if (from.size != size()) return {answer::refused, fmt::format("you say {} ranks, here are {}", from.size, size())};
    if (from.to != who_.me) return {answer::refused, fmt::format("you call rank {}, this is rank {}", from.to, who_.me)};
    if (from.from < 0 || from.from >= size() || from.from == who_.me) return {answer::refused, fmt::format("there is no peer of rank {}", from.from)};
    if (from.lane.index >= lanes_of(from.lane.kind, who_.settings.lanes)) return {answer::refused, fmt::format("lanes for bulk data are {} here", who_.settings.lanes)};
    if (from.lane == lane_kind::control && from.from != 0 && !control::is_parent(who_.me, from.from))
        return {answer::refused, fmt::format("rank {} is not the parent of rank {}", who_.me, from.from)};
    if (closed_) return {answer::refused, fmt::format("rank {} has left", who_.me)};
    if (failure_ && from.lane != lane_kind::control) return {answer::refused, failure_->cause};
    passage& way = passage_to(from.from, from.lane);
    if (way == passage::entering || way == passage::open)
        return from.lane == lane_kind::control ? reply{answer::refused, fmt::format("there is a rank {} already", from.from)} : reply{answer::crossed, {}};
    if (way == passage::dialling && who_.me < from.from) return {answer::crossed, {}};
    way = passage::entering;
    return {answer::welcome, {}};
}

void group::take_link(const hello& from, std::unique_ptr<link> over) { attach_link(from.from, from.lane, std::move(over)); }

void group::attach_link(rank peer, lane_id which, std::unique_ptr<link> over) {
    passage_to(peer, which) = passage::open;
    if (closed_) return;
    if (which != lane_kind::control) {
        engine_->attach(peer, which, std::move(over));
        return;
    }
    control_.attach(peer, std::move(over));
}

void group::wanted(rank peer, lane_kind kind) noexcept {
    if (has_left(peer)) {
        heard_goodbye(peer);  // again, because an operation waits for this peer now
        return;
    }
    if (passage_to(peer, kind) == passage::none) work_.start(dial_all(peer, kind));
}

/// Of several bulk lanes none is a stream: a rank may spread them over loops, and a stream cannot move to another loop.
bool group::may_stream(lane_id which) const noexcept { return who_.is_child && (which.kind != lane_kind::bulk || who_.settings.lanes == 1); }

/// The control lane of a child communicator, which every child has, is a stream of a multiplexed link: it costs no descriptor and needs no new connection. Its
/// other lanes are links of their own, which are faster, for as long as there are descriptors in plenty.
bool group::takes_stream(lane_id which) const noexcept {
    return may_stream(which) && (which == lane_kind::control || descriptors_are_scarce());
}

/// Opens the link, or the stream, of one lane. A stream it is also where a link fails for a lack of descriptors, here or at the peer. The
/// limits are those of open_link.
task<result<std::unique_ptr<link>>> group::open(rank peer, lane_id which, time_point connected, time_point answered) {
    const std::string address = who_.addresses[static_cast<std::size_t>(peer)];
    const hello who = hello_to(peer, which);
    if (!takes_stream(which)) {
        auto opening = open_link(context_->network({}), address, who, connected, answered);
        auto made = co_await std::move(opening);
        if (made || !out_of_descriptors(made.failure().code()) || !may_stream(which)) co_return made;
    }
    auto opening = context_->multiplexed_links().open(who, who_.addresses[static_cast<std::size_t>(who_.me)], address, connected, answered);
    auto stream = co_await std::move(opening);
    if (!stream) co_return stream;
    auto greeting = greet(std::move(*stream), address, who, answered);
    co_return co_await std::move(greeting);
}

/// Dials one lane after the other, so that a rank which many peers dial at once has only one link of each in its handshake.
task<> group::dial_all(rank peer, lane_kind kind) {
    for (int index = 0; index < lanes_of(kind, who_.settings.lanes) && !failure_ && !closed_ && !has_left(peer); ++index)
        if (const lane_id which(kind, index); passage_to(peer, which) == passage::none) {
            auto dialling = dial(peer, which);
            co_await std::move(dialling);
        }
}

task<> group::dial(rank peer, lane_id which) {
    passage_to(peer, which) = passage::dialling;
    const time_point deadline = later(context_->loop().now(), context_->options().connect);
    auto opening = open(peer, which, deadline, deadline);
    auto opened = co_await std::move(opening);
    if (failure_ || closed_) co_return;
    if (opened && *opened) {
        attach_link(peer, which, std::move(*opened));
    } else if (!opened && out_of_descriptors(opened.failure().code())) {
        fail_everywhere(without_descriptor(who_.me, fmt::format("a link to rank {}", peer), opened.failure().code()));
    } else if (!opened && passage_to(peer, which) == passage::dialling) {
        // The control tree reports a peer that has died or left, and knows better why: give its report time to arrive.
        co_await sleep_for(context_->options().lost_link);
        if (failure_ || closed_ || has_left(peer) || passage_to(peer, which) != passage::dialling) co_return;  // or it dialled
        report why = opened.failure().details();
        if (why.code == error::peer_died || why.code.category() != error_category()) why.code = error::refused;  // the peer lives
        fail_everywhere(std::move(why));
    }
}

// ---- failure
//
// The first cause on a rank stays, and comes by one of three ways: the engine found it (engine_failed), the control tree brought it and has passed
// it on (heard_failure), or the group, its monitor or the acceptor found it (fail_everywhere). If the engine has failed meanwhile, its
// cause goes before the one that is given, because operations have ended with it. The tree and the engine both learn of every cause.

void group::note_failure(report why) noexcept {
    failure_ = std::move(why);
    changed_.notify_all();
    tell_watchers();
    monitor_.end_all(told());
}

void group::fail_everywhere(report why) noexcept {
    if (failure_ || closed_) return;
    if (auto known = engine_->failed()) why = std::move(*known);
    control_.spread(why);
    engine_->fail(why);
    note_failure(std::move(why));
}

void group::engine_failed(const report& why) noexcept {
    if (failure_) return;
    control_.spread(why);
    note_failure(why);
}

void group::heard_failure(report why) noexcept {
    if (failure_ || closed_) return;
    if (auto known = engine_->failed()) why = std::move(*known);
    engine_->fail(why);
    note_failure(std::move(why));
}

future<> group::watch() {
    if (!made().here()) return failed_future(foreign());
    auto ends = std::make_shared<watcher>();
    // A watch that is dropped ends on the loop too, where all watchers are; the group may be gone then.
    auto made = make_future<void>([context = context_, asked = std::weak_ptr(ends)] {
        (void)context->send([asked] {
            const auto known = asked.lock();
            if (!known) return;
            if (*known) (*known)->fail(tutti::failure(error::cancelled, "the watch was given up"));
            known->reset();
        });
    });
    ends->emplace(std::move(made.second));
    const bool sent = context_->send([this, ends] {
        std::erase_if(watchers_, [](const auto& each) { return !*each; });  // those that were dropped
        watchers_.push_back(ends);
        if (failure_ || closed_) tell_watchers();
    });
    if (!sent) ends->reset();
    return std::move(made.first);
}

future<> group::enter_barrier(duration deadline, const char* label) {
    if (!made().here()) return failed_future(foreign());
    auto call = std::make_shared<monitor::call>();
    // Runs on the loop later: the barrier, and this group with it, may be over then, and `ends` empty.
    auto made = make_future<void>([context = context_, asked = std::weak_ptr(call)] {
        (void)context->send([asked] {
            const auto known = asked.lock();
            if (known && known->ends && known->at) known->at->give_up(*known);
        });
    });
    call->within = deadline == duration{} ? context_->options().operation : deadline;
    if (label) call->label = label;
    call->ends.emplace(std::move(made.second));
    const bool sent = context_->send([this, call] {
        call->at = &monitor_;
        call->number = ++entered_;
        call->since = context_->loop().now();
        if (failure_ || closed_) monitor_.end(*call, told());
        else monitor_.arrive(call);
    });
    if (!sent) call->ends.reset();
    return std::move(made.first);
}

/// Returns the failure with this rank's own details, or error::closed where there is none.
report group::told() const {
    report why = failure_.value_or(report{});
    if (!failure_) {
        why.code = error::closed;
        why.cause = "the communicator was closed";
    }
    why.local = who_.me;
    why.communicator = who_.name;
    why.epoch = who_.epoch;
    return why;
}

void group::tell_watchers() noexcept {
    const tutti::failure why(told());
    for (auto& each : std::exchange(watchers_, {})) {
        if (*each) (*each)->fail(why);
        each->reset();
    }
}

/// A crashed process loses its control link too, and a failing one reports why before it goes. The end of a data link is the cause only
/// when the tree reports neither within `lost_link`.
void group::link_lost(rank peer, lane_id which, std::error_code why) noexcept { work_.start(judge(peer, which, why)); }

task<> group::judge(rank peer, lane_id which, std::error_code code) {
    // A lack of this rank's own is known here only, so it is reported at once, before peers take this rank for dead.
    if (code != error::system && !out_of_descriptors(code)) co_await sleep_for(context_->options().lost_link);
    if (failure_ || closed_) co_return;
    if (has_left(peer)) {  // by the tree's word: its goodbye on this lane will not come
        engine_->peer_left(peer, which);
        co_return;
    }
    report why;
    if (out_of_descriptors(code)) {
        fail_everywhere(without_descriptor(who_.me, fmt::format("the memory that rank {} shares with it", peer), code));
        co_return;
    }
    const bool ours = code == error::system;  // this rank could not map the peer's memory
    why.code = ours ? error::system : error::peer_died;
    why.root = ours ? who_.me : peer;
    why.peers = {why.root};
    why.cause = ours ? fmt::format("rank {} cannot take the memory that rank {} shares with it ({})", who_.me, peer, code.message())
                     : fmt::format("rank {} died: rank {} lost its link to it ({})", peer, who_.me, code.message());
    fail_everywhere(std::move(why));
}

// ---- leaving

/// Control calls this with its guard held. The reaction to a goodbye may call control again, so it is posted.
void group::heard_goodbye(rank who) noexcept {
    if (departing_.empty()) context_->loop().post(on_departure_);
    departing_.push_back(who);
}

void group::announce_departures() noexcept {
    // An open lane brings the goodbye itself, behind its data. A lane that is being made has `lost_link` to do so.
    const std::vector<rank> gone = std::exchange(departing_, {});
    for (const rank who : gone)
        for (const lane_kind kind : {lane_kind::bulk, lane_kind::small, lane_kind::point})
            for (int index = 0; index < lanes_of(kind, who_.settings.lanes); ++index) {
                const lane_id which(kind, index);
                if (passage_to(who, which) == passage::none) engine_->peer_left(who, which);
                else if (passage_to(who, which) != passage::open) work_.start(see_off(who, which));
            }
    for (const rank who : gone) monitor_.departed(who);
    changed_.notify_all();
}

/// The peer may have sent its data and left while this lane was being made. The lane then comes later than the goodbye of the tree, or
/// never.
task<> group::see_off(rank who, lane_id which) {
    co_await sleep_for(context_->options().lost_link);
    if (!failure_ && !closed_ && passage_to(who, which) != passage::open) engine_->peer_left(who, which);
}

void group::warn(const std::string& sentence) const {
    const std::string name = who_.name == membership().name ? "" : fmt::format(" of '{}'", who_.name);
    context_->tell(fmt::format("rank {}{}: {}", who_.me, name, sentence));
}

void group::shut() noexcept {
    closed_ = true;  // first: what ends below finds the group closed
    engine_->shut_down();
    control_.close();
    tell_watchers();
    monitor_.end_all(told());
}

void group::end() noexcept {
    leave();
    work_.clear();
    context_->loop().withdraw(on_departure_);
    departing_.clear();
    monitor_.end_all(told());
    control_.let_go();
}

void group::leave() noexcept {
    if (closed_) return;
    engine_->drop();
    if (auto why = engine_->failed()) engine_failed(*why);
    if (!failure_) engine_->say_goodbye();
    shut();
}

}  // namespace tutti::detail
