// How a whole job becomes a communicator: its ranks find each other in the store, and each opens its control link to another, its parent.
#include "communicator/calibrate.hpp"
#include "communicator/gathering.hpp"
#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "communicator/spawn.hpp"

#include "algorithm/cost_text.hpp"
#include "base/bytes.hpp"
#include "rendezvous/dropout.hpp"

#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

/// For so long rank 0 keeps its store, for others to read what went wrong.
constexpr duration last_words = std::chrono::milliseconds(500);

using detail::membership;

void check_options(const context_options& asked, bool embedded, const world& who, const membership& mine) {
    if (who.size < 1 || who.me < 0 || who.me >= who.size)
        throw not_joined(mine, error::invalid_argument, fmt::format("there is no rank {} of {}", who.me, who.size));
    if (const auto& costs = asked.costs; costs && !costs_in(to_string(*costs)))
        throw not_joined(
            mine, error::invalid_argument,
            fmt::format("costs are not negative, of seconds at most a million, parts of others at most 1, cores 0 or at least 1, "
                        "crowded 1 to a million; these are {}",
                        to_string(*costs)));
    if (const auto tuning = tuning_in(asked.tuning, ""); !tuning)
        throw not_joined(mine, error::invalid_argument, tuning.failure().details().cause);
    if (asked.operation <= duration{} || std::min({asked.rendezvous, asked.connect, asked.handshake, asked.lost_link}) < duration{} ||
        asked.host < 0)
        throw not_joined(mine, error::invalid_argument,
                         "limits in time are not negative, that of operations is more than 0, and hosts are numbered from 0");
    if (asked.lanes < 1 || asked.lanes > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("lanes are 1 to {}, these are {}", most_lanes, asked.lanes));
    if (const int threads = asked.threads; threads < 1 || threads > most_lanes)
        throw not_joined(mine, error::invalid_argument, fmt::format("threads are 1 to {}, these are {}", most_lanes, threads));
    else if (threads > 1 && embedded)
        throw not_joined(mine, error::invalid_argument, fmt::format("a context on a loop of its user has no threads of its own, and no {} of them", threads));
}

task<std::unique_ptr<communicator>> join_over(std::shared_ptr<context::state> home, world who, store& meeting, std::string job) {
    const time_point deadline = later(home->loop().now(), home->options().rendezvous);
    membership mine;
    mine.me = who.me;
    check_options(home->options(), home->embedded(), who, mine);
    mine.job = digest_of(job);
    mine.epoch = who.epoch;
    mine.addresses.resize(static_cast<std::size_t>(who.size));
    if (const std::size_t asked = home->options().slice_bytes; asked > 0) mine.settings.slice_bytes = asked;
    mine.settings.small_bytes = home->options().small_bytes;
    mine.settings.cache_bytes = home->options().cache_bytes;
    mine.settings.deterministic = home->options().deterministic;
    mine.settings.lanes = home->options().lanes;
    mine.settings.forced = home->forced();
    mine.calibrate = home->options().calibrate;
    if (who.size > 1) {
        gathering all(*home, who, meeting, std::move(job), deadline);
        co_await all.run(mine);
    }
    mine.id = digest_of(fmt::format("{} {}", mine.name, mine.call), mine.job);
    std::unique_ptr<detail::group, detail::group_deleter> formed(new detail::group(home, std::move(mine)));
    co_await formed->form(deadline);
    detail::group& inside = *formed;
    auto joined = std::make_unique<communicator>(std::move(formed));
    if (inside.who().calibrate && who.size > 1) inside.reprice(co_await detail::calibrate(*joined, inside));
    co_return joined;
}

/// Ends, with the failure, when the store says that a rank will not come, or when its rank is gone.
task<std::unique_ptr<communicator>> hear_of_dropout(const world& who, store& meeting) {
    auto told = co_await meeting.get(dropout_key, no_deadline);
    std::optional<report> why = told ? read_dropout(*told) : told.failure().details();
    if (!why) why = failure(error::protocol_error, "what the store says of a rank that dropped out is not of this version").details();
    why->operation = "join world";
    why->local = who.me;
    throw failure(std::move(*why));
}

/// Tells the others what this rank lacks, without which it will not come.
task<> drop_out(const world& who, store& meeting, const failure& because, time_point limit) {
    if (because.code() != error::system || because.details().root != who.me) co_return;
    std::optional<std::string> none;
    auto said = co_await meeting.compare_set(dropout_key, std::move(none), write_dropout(because.details()), limit);
    (void)said;  // a store that is gone has told them itself
}

task<std::unique_ptr<communicator>> join_at(std::shared_ptr<context::state> home, world who, std::shared_ptr<store> meeting, std::string job) {
    auto joining = join_over(std::move(home), std::move(who), *meeting, std::move(job));
    co_return co_await std::move(joining);
}

task<std::unique_ptr<communicator>> join_launched(std::shared_ptr<context::state> home, world who) {
    const time_point deadline = later(home->loop().now(), home->options().rendezvous);
    auto opening = open_store(who, deadline);
    auto opened = co_await std::move(opening);
    const std::unique_ptr<store> meeting = std::move(opened).value();
    const bool rank_0_keeps_it = who.store_path.empty() && who.size > 1;
    std::unique_ptr<communicator> joined;
    std::optional<failure> why;
    try {
        auto joining = join_over(home, who, *meeting, store_prefix(who));
        if (rank_0_keeps_it) {
            auto either = when_any(std::move(joining), hear_of_dropout(who, *meeting));
            auto ended = co_await std::move(either);
            joined = std::get<0>(std::move(ended));
        } else {
            joined = co_await std::move(joining);
        }
    } catch (const failure& caught) {
        why = caught;
    }
    if (why && rank_0_keeps_it) co_await drop_out(who, *meeting, *why, later(home->loop().now(), last_words));
    // All have read what there is to read once the control tree stands, or why it does not; rank 0 waits for the others to go.
    const bool missed = why && (why->code() == error::rendezvous_timeout || why->code() == error::system);
    if (why && !missed) throw *why;
    const time_point last = later(home->loop().now(), last_words);
    auto closed = co_await meeting->close(missed ? last : std::max(deadline, last));
    if (why) throw *why;
    closed.value();
    co_return joined;
}

}  // namespace

task<std::unique_ptr<communicator>> context::join(world who, std::shared_ptr<store> meeting, std::string job) {
    state_->check_process();
    auto work = join_at(state_, std::move(who), std::move(meeting), std::move(job));
    auto joining = detail::spawn_cancellable(*state_, std::move(work));
    co_return co_await std::move(joining);
}

task<std::unique_ptr<communicator>> context::join(world who) {
    state_->check_process();
    auto work = join_launched(state_, std::move(who));
    auto joining = detail::spawn_cancellable(*state_, std::move(work));
    co_return co_await std::move(joining);
}

}  // namespace tutti
