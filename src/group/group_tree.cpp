// How a group's control tree forms, and how rank 0 repairs it when ranks leave without waiting.
//
// Forming: each rank dials its parent, and its arrival (barrier 0) travels up to rank 0. When all have come, rank 0 sends the release down.
// Repair: the hang_up of a rank travels up to rank 0, which dials the rank's children, the orphans, and is their parent from then on.
#include "base/descriptors.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "group/reminder.hpp"
#include "runtime/notified.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

namespace tutti::detail {
namespace {

constexpr duration first_patience = std::chrono::milliseconds(10);  // to connect to an orphan: most answer or refuse at once

}  // namespace

task<> group::call_parent(time_point deadline) {
    const rank parent = control::parent_of(who_.me);
    passage_to(parent, lane_kind::control) = passage::dialling;
    auto opening = open(parent, lane_kind::control, deadline, deadline);
    auto opened = co_await std::move(opening);
    if (opened && *opened) {
        attach_link(parent, lane_kind::control, std::move(*opened));
        co_return;
    }
    report why = opened ? report{} : opened.failure().details();
    if (why.code == error::peer_died) {  // perhaps the parent lacks something, and its report comes another way: wait for that
        co_await sleep_for(context_->options().lost_link);
        if (failure_) throw failure(told());
    }
    if (out_of_descriptors(why.code)) why = without_descriptor(who_.me, fmt::format("a link to rank {}", parent), why.code);
    why.local = who_.me;
    if (opened) why.code = error::protocol_error, why.cause = fmt::format("rank {} called rank {}, which is its child", parent, who_.me);
    if (context_->loop().now() >= deadline) why.code = error::rendezvous_timeout;
    why.operation = fmt::format("join {}", who_.name);
    if (why.code != error::cancelled) control_.spread(why);  // to children that have come already
    throw failure(std::move(why));
}

bool group::complete() const noexcept {
    return who_.me == 0 ? std::find(present_.begin(), present_.end(), false) == present_.end() : formed_;
}

failure group::late() const {
    report why;
    why.code = error::rendezvous_timeout;
    why.operation = fmt::format("join {}", who_.name);
    why.local = who_.me;
    why.communicator = who_.name;
    if (who_.me != 0) {
        why.cause = "rank 0 did not say in time that all ranks have come";
        return failure(std::move(why));
    }
    const auto [who, behind] = missing(present_);
    why.cause = fmt::format("{} of {} did not come in time{}", who, size(), behind);
    return failure(std::move(why));
}

task<> group::until_formed(time_point deadline) {
    while (!complete() && !failure_) {
        auto waiting = notified(changed_, deadline);
        const bool told = co_await std::move(waiting);
        if (told) continue;
        const failure mine = late();
        if (who_.me == 0) control_.spread(mine.details());
        throw mine;
    }
}

std::string group::awaited_to_form() const {
    return who_.me == 0 ? missing(present_).first : std::string("rank 0, which has not said that all ranks have come");
}

task<> group::form(time_point deadline) {
    const auto tell = [this](double seconds) { warn(fmt::format("join has waited {:.0f} s for {}", seconds, awaited_to_form())); };
    const reminder slow(context_->loop(), context_->options().stall_warning, tell);
    if (who_.me != 0) {
        control_.say_entered(0, {});  // control keeps it until the parent's link is there
        co_await call_parent(deadline);
        deadline = later(deadline, std::chrono::seconds(1));  // rank 0 names the missing ranks at its deadline
    }
    co_await until_formed(deadline);
    if (failure_ && !formed_) throw failure(told());  // after the release it has formed on all ranks, and its calls report the failure
    if (who_.me == 0) control_.say_release(0);
}

void group::heard_entered(rank who, std::uint64_t number, duration within) noexcept {
    if (failure_ || closed_) return;
    if (number > 0) return monitor_.heard_entered(who, number, within);
    present_[static_cast<std::size_t>(who)] = true;
    changed_.notify_all();
}

void group::heard_release(std::uint64_t number) noexcept {
    if (failure_ || closed_) return;
    formed_ = true;
    changed_.notify_all();
    if (number > 0) monitor_.heard_release(number);
}

/// At rank 0: dials the children of a rank that has left without waiting.
void group::heard_gone(rank who) noexcept {
    for (const rank orphan : {2 * who + 1, 2 * who + 2}) {
        if (orphan >= size() || control_.gone(orphan)) continue;
        ++adopting_;
        work_.start(adopt(orphan));
    }
}

/// An orphan that refuses the connection has left, too. One that does not answer may be slow: it is dialled again, each time with twice the
/// patience, until `connect` has passed.
task<> group::adopt(rank orphan) {
    co_await yield();  // control called us with its guard held
    if (passage& way = passage_to(orphan, lane_kind::control); way == passage::none && !closed_) {
        way = passage::dialling;
        const time_point limit = later(context_->loop().now(), context_->options().connect);
        result<std::unique_ptr<link>> opened = failure(error::timed_out, "");
        for (duration patience = first_patience;
             !opened && opened.failure().code() == error::timed_out && context_->loop().now() < limit && !closed_; patience *= 2) {
            const time_point connected = std::min(limit, later(context_->loop().now(), patience));
            auto opening = open(orphan, lane_kind::control, connected, limit);
            opened = co_await std::move(opening);
        }
        if (opened && *opened) attach_link(orphan, lane_kind::control, std::move(*opened));
        else if (!closed_) control_.note_gone(orphan);
    }
    --adopting_;
    changed_.notify_all();
}

/// If rank 0 has not dialled this orphan after `connect`, it has left without waiting, too. Further goodbyes cannot arrive then, and
/// close() ends at its limit.
task<> group::await_adoption() {
    co_await sleep_for(context_->options().connect);
    if (!closed_ && control_.orphan()) control_.note_gone(0);
}

}  // namespace tutti::detail
