// How a job becomes a communicator. context::join starts one task on the context's loop, for a caller on any loop:
//
//   join_launched   opens the store of the launcher and listens for dropouts; join_at does without, for a store of the user
//     join_over     checks the options
//       gathering   the ranks find each other in the store: `membership`, the same on all ranks (join/gathering.hpp)
//       group::form opens the control link to the parent, and waits until rank 0 knows that all ranks have come (group/group_tree.cpp)
//       calibrate   only if the options ask for it
#include "communicator/calibrate.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "group/notice.hpp"
#include "group/reminder.hpp"
#include "group/spawn.hpp"
#include "join/gathering.hpp"

#include "algorithm/cost_text.hpp"
#include "base/bytes.hpp"
#include "rendezvous/dropout.hpp"

#include <tutti/context.hpp>
#include <tutti/detail/bound_task.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

/// After a failure rank 0 keeps its store for so long, so that other ranks can read what went wrong.
constexpr duration last_words = std::chrono::milliseconds(500);

using detail::membership;

/// The state of one join, which join_launched or join_at owns. It also reports a slow join.
struct joining {
    std::shared_ptr<detail::context_state> state;
    world who;
    std::string job;
    join_options options;
    time_point deadline;
    bool heard = false;                    // the store says how the gathering failed, to all ranks
    const gathering* meeting_up = nullptr;  // while the gathering runs
    detail::group* forming = nullptr;      // while the group forms; it reports itself what it waits for

    joining(std::shared_ptr<detail::context_state> at, world one, const join_options& once)
        : state(std::move(at)),
          who(std::move(one)),
          options(once),
          deadline(later(state->loop().now(), once.within == duration{} ? state->options().rendezvous : once.within)) {}

    std::string awaited() const {
        if (meeting_up) return meeting_up->awaited();
        return who.store_path.empty() ? fmt::format("the store at {}:{}", who.master_address, who.master_port) : "the store in " + who.store_path;
    }
    void remind(double seconds) const {
        if (!forming) told_by(state->options())(fmt::format("rank {}: join has waited {:.0f} s for {}", who.me, seconds, awaited()));
    }
    const reminder slow{state->loop(), state->options().stall_warning, [this](double seconds) { remind(seconds); }};
};

/// Sets joining::forming for as long as it lives.
class now_forming {
public:
    now_forming(joining& all, detail::group& which) noexcept : all_(all) { all_.forming = &which; }
    now_forming(const now_forming&) = delete;
    now_forming& operator=(const now_forming&) = delete;
    ~now_forming() { all_.forming = nullptr; }

private:
    joining& all_;
};

void check_options(const context_options& asked, const join_options& once, bool embedded, const world& who, const membership& mine) {
    if (who.size < 1 || who.me < 0 || who.me >= who.size)
        throw not_joined(mine, error::invalid_argument, fmt::format("there is no rank {} of {}", who.me, who.size));
    if (const auto& costs = asked.costs; costs && !costs_in(to_string(*costs)))
        throw not_joined(
            mine, error::invalid_argument,
            fmt::format("costs are not negative, seconds at most a million, and cores 0 or at least 1; these are {}", to_string(*costs)));
    if (const auto tuning = tuning_in(asked.tuning, transport_kind::automatic); !tuning)
        throw not_joined(mine, error::invalid_argument, tuning.failure().details().cause);
    if (asked.operation <= duration{} ||
        std::min({once.within, asked.rendezvous, asked.connect, asked.handshake, asked.lost_link}) < duration{} || asked.host < 0)
        throw not_joined(mine, error::invalid_argument,
                         "limits in time are not negative, that of operations is more than 0, and hosts are numbered from 0");
    if (asked.lanes < 1 || asked.lanes > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("lanes are 1 to {}, these are {}", most_lanes, asked.lanes));
    if (const int threads = asked.threads; threads < 1 || threads > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("threads are 1 to {}, these are {}", most_lanes, threads));
    else if (threads > 1 && embedded)
        throw not_joined(mine, error::invalid_argument, fmt::format("a context on a loop of its user has no threads of its own, and no {} of them", threads));
}

task<std::unique_ptr<communicator>> join_over(joining& all, store& meeting) {
    const std::shared_ptr<detail::context_state>& context = all.state;
    const world& who = all.who;
    membership mine;
    mine.me = who.me;
    check_options(context->options(), all.options, context->embedded(), who, mine);
    mine.job = digest_of(all.job);
    mine.epoch = who.epoch;
    mine.addresses.resize(static_cast<std::size_t>(who.size));
    if (const std::size_t asked = context->options().slice_bytes; asked > 0) mine.settings.slice_bytes = asked;
    mine.settings.small_bytes = context->options().small_bytes;
    mine.settings.cache_bytes = context->options().cache_bytes;
    mine.settings.deterministic = context->options().deterministic;
    mine.settings.lanes = context->options().lanes;
    mine.settings.forced = context->forced();
    mine.calibrate = context->options().calibrate;
    if (who.size > 1) {
        gathering others(*context, who, meeting, all.job, all.deadline);
        all.meeting_up = &others;
        try {
            co_await others.run(mine);
            all.meeting_up = nullptr;
        } catch (const failure&) {
            all.heard = others.heard();
            all.meeting_up = nullptr;
            throw;
        }
    }
    mine.id = digest_of(fmt::format("{} {}", mine.name, mine.call), mine.job);
    std::unique_ptr<detail::group, detail::group_deleter> formed(new detail::group(context, std::move(mine)));
    detail::group& inside = *formed;
    {
        const now_forming until_formed(all, inside);
        co_await formed->form(all.deadline);
    }
    auto joined = std::make_unique<communicator>(std::move(formed));
    if (inside.who().calibrate && who.size > 1) inside.reprice(co_await detail::calibrate(*joined, inside));
    co_return joined;
}

/// Never ends well: throws when the store reports that a rank will not come, or when the store itself is gone.
task<std::unique_ptr<communicator>> hear_of_dropout(joining& all, store& meeting) {
    auto told = co_await meeting.get(dropout_key, no_deadline);
    std::optional<report> why = told ? read_dropout(*told) : told.failure().details();
    if (!why) why = failure(error::protocol_error, "what the store says of a rank that dropped out is not of this version").details();
    why->operation = "join world";
    why->local = all.who.me;
    if (all.forming) all.forming->fail_everywhere(*why);
    throw failure(std::move(*why));
}

/// Reports in the store why this rank will not come. Not where the cause is another rank, or is in the store already.
task<> drop_out(const joining& all, store& meeting, const failure& because) {
    report why = because.details();
    if (all.heard || (why.root >= 0 && why.root != all.who.me)) co_return;
    why.root = all.who.me;
    if (!why.cause.starts_with(fmt::format("rank {} ", all.who.me)))  // a cause that names the rank itself
        why.cause = fmt::format("rank {} could not join: {}", all.who.me, why.cause.empty() ? why.code.message() : why.cause);
    if (why.peers.empty()) why.peers = {why.root};
    std::optional<std::string> none;
    auto said = co_await meeting.compare_set(dropout_key, std::move(none), write_dropout(why), later(all.state->loop().now(), last_words));
    (void)said;  // the end of the store is a report of its own
}

task<std::unique_ptr<communicator>> join_at(std::shared_ptr<detail::context_state> context, world who, std::shared_ptr<store> meeting,
                                            std::string job, join_options options) {
    joining all(std::move(context), std::move(who), options);
    all.job = std::move(job);
    auto work = join_over(all, *meeting);
    co_return co_await std::move(work);
}

task<std::unique_ptr<communicator>> join_launched(std::shared_ptr<detail::context_state> context, world who, join_options options) {
    joining all(context, std::move(who), options);
    all.job = store_prefix(all.who);
    auto opening = open_store(all.who, all.deadline);
    auto opened = co_await std::move(opening);
    const std::unique_ptr<store> meeting = std::move(opened).value();
    const bool tells_of_deaths = all.who.store_path.empty() && all.who.size > 1;
    std::unique_ptr<communicator> joined;
    std::optional<failure> why;
    try {
        auto work = join_over(all, *meeting);
        if (tells_of_deaths) {
            auto either = when_any(std::move(work), hear_of_dropout(all, *meeting));
            auto ended = co_await std::move(either);
            joined = std::get<0>(std::move(ended));
        } else {
            joined = co_await std::move(work);
        }
    } catch (const failure& caught) {
        why = caught;
    }
    if (why && why->code() == error::cancelled) throw *why;
    if (why && tells_of_deaths) co_await drop_out(all, *meeting, *why);
    // When the control tree stands, all ranks have read what they need of the store. close() at rank 0 waits until they have gone.
    const time_point last = later(context->loop().now(), last_words);
    auto closed = co_await meeting->close(why ? last : std::max(all.deadline, last));
    if (why) throw *why;
    closed.value();
    co_return joined;
}

task<std::unique_ptr<communicator>> join_in_background(std::shared_ptr<detail::context_state> context, task<std::unique_ptr<communicator>> work) {
    context->check_process();
    auto joining = detail::spawn_cancellable(*context, std::move(work));
    co_return co_await std::move(joining);
}

task<std::unique_ptr<communicator>> join_here(std::shared_ptr<detail::context_state> context, task<std::unique_ptr<communicator>> work) {
    event_loop& loop = context->loop();
    return detail::bind_to_loop(loop, join_in_background(std::move(context), std::move(work)));
}

}  // namespace

task<std::unique_ptr<communicator>> context::join(world who, std::shared_ptr<store> meeting, std::string job, join_options options) {
    return join_here(state_, join_at(state_, std::move(who), std::move(meeting), std::move(job), options));
}

task<std::unique_ptr<communicator>> context::join(world who, join_options options) {
    return join_here(state_, join_launched(state_, std::move(who), options));
}

}  // namespace tutti
