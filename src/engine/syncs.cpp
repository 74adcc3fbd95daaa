#include "engine/syncs.hpp"

#include "engine/engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti {

future<> syncs::add(std::uint64_t collectives, std::uint64_t messages) {
    const std::uint64_t number = ++called_;
    auto [end, told] = detail::make_future([this, known = owner_.weak_from_this(), number] {
        if (const auto here = known.lock()) cancel(number);
    });
    if (owner_.over()) {
        told.fail(failure(why()));
    } else {
        all_.push_back({number, collectives, messages, std::move(told)});
        post();
    }
    return std::move(end);
}

/// The future of a sync was cancelled, or dropped.
void syncs::cancel(std::uint64_t number) noexcept {
    std::optional<detail::future_source<>> told;
    {
        const std::lock_guard lock(owner_.guard());
        const auto found = std::find_if(all_.begin(), all_.end(), [number](const call& each) { return each.number == number; });
        if (found == all_.end()) return;
        told = std::move(found->told);
        all_.erase(found);
    }
    report cancelled;
    cancelled.code = error::cancelled;
    cancelled.operation = "sync";
    cancelled.communicator = owner_.who().communicator;
    cancelled.local = owner_.who().me;
    cancelled.cause = "it was cancelled";
    told->fail(failure(std::move(cancelled)));
}

report syncs::why() const {
    report ending = owner_.ending();
    ending.operation = "sync";
    return ending;
}

void syncs::post() noexcept {
    if (all_.empty() || owner_.shut() || std::exchange(posted_, true)) return;
    owner_.loop().post(on_loop_);
}

void syncs::withdraw() noexcept { owner_.loop().withdraw(on_loop_); }

void syncs::look() noexcept {
    {
        const std::lock_guard lock(owner_.guard());
        posted_ = false;
    }
    settle();
}

void syncs::settle() noexcept {
    std::vector<call> ended;
    std::optional<report> failed;
    {
        const std::lock_guard lock(owner_.guard());
        const auto waits = [this](const call& each) { return !owner_.over() && owner_.under_way(each.collectives, each.messages); };
        const auto first = std::stable_partition(all_.begin(), all_.end(), waits);
        ended.assign(std::move_iterator(first), std::move_iterator(all_.end()));
        all_.erase(first, all_.end());
        if (owner_.over()) failed = why();
    }
    for (call& each : ended)
        if (failed) each.told.fail(failure(*failed));
        else each.told.set();
}

}  // namespace tutti
