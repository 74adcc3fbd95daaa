// The part of the engine that any thread may call: calls, failures, waiting for the end, and the carrier's reports. device_engine_progress.cpp has the part
// of the progress loop.
#include "gpu/device_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::gpu {

device_engine::device_engine(std::shared_ptr<device_state> card, event_loop& progress, device_engine_settings how)
    : how_(std::move(how)),
      card_(std::move(card)),
      apart_(card_ && card_->options().polling == poll_mode::thread ? &card_->polling() : nullptr),
      progress_(&progress) {}

device_engine::~device_engine() = default;

time_point device_engine::now() const { return progress_ ? progress_->now() : std::chrono::steady_clock::now(); }

std::string device_engine::place() const { return card_ ? fmt::format("on device {}", card_->ordinal()) : std::string("without a device"); }

// ---- beginning

future<> device_engine::start(duration within) {
    auto ends = detail::make_future<>();
    const std::lock_guard lock(guard_);
    if (why_) {
        ends.second.fail(failure(*why_));
        return std::move(ends.first);
    }
    self_ = shared_from_this();
    starting_ = std::move(ends.second);
    start_by_ = later(now(), within);
    if (!std::exchange(tend_posted_, true)) post(tend_);
    post_work(begin_);
    return std::move(ends.first);
}

// ---- a call

operation device_engine::issue(operation_state& which) {
    operation handle(which);
    std::optional<report> refused;
    {
        std::unique_lock lock(guard_);
        if (under_way_count_ >= how_.pending_limit && !why_ && !closing_) {
            lock.unlock();
            too_many(which);
            lock.lock();
        }
        if (why_) {
            refused = why_;
        } else if (closing_) {
            refused.emplace();
            refused->code = error::closed;
            refused->cause = "the communicator is closed";
        } else {
            which.sequence = ++issued_;
            which.issued = now();
            which.deadline = later(which.issued, which.what.deadline > duration{} ? which.what.deadline : how_.operation);
            time_point date = which.deadline;
            if (of_all_ranks(which.what.kind)) {
                which.collective = ++collectives_;
                recent_[collectives_ % remembered] = describe(which.what);
                if (collectives_under_way_++ == 0) date = std::min(date, which.issued + which.patience);
            }
            under_way_.push(which);
            ++under_way_count_;
            if (date < armed_ && !std::exchange(tend_posted_, true)) post(tend_);
            post_work(which.to_issue());  // with the guard: places in the order and turns go together
        }
    }
    if (refused) {
        const failure why = told(*refused, &which);
        which.end(&why);
        which.let_go();
    }
    return handle;
}

/// Fails the engine on all ranks, since they count the calls alike.
void device_engine::too_many(const operation_state& which) {
    report why;
    why.code = error::invalid_argument;
    why.peers = {how_.me};
    why.cause = fmt::format("rank {} called {} with {} operations under way, which is the limit", how_.me, to_string(which.what),
                            how_.pending_limit);
    fail(std::move(why));
}

/// Returns this engine's failure in the words of one operation.
failure device_engine::told(const report& why, const operation_state* which) const {
    report mine = why;
    mine.communicator = how_.name;
    mine.local = how_.me;
    if (which) {
        mine.operation = to_string(which->what);
        mine.sequence = which->sequence;
        if (which->what.label) mine.label = which->what.label;
        if (which->issued != time_point{}) mine.elapsed = now() - which->issued;
    }
    return failure(std::move(mine));
}

// ---- comparing

void device_engine::compare(rank who, std::uint64_t number, const call_signature& theirs) noexcept {
    report why;
    bool closed = false;
    {
        const std::lock_guard lock(guard_);
        if (why_ || number == 0) return;
        closed = is_over_;
        if (number > collectives_) {
            if (!closing_) return;  // it is still to come
            why.code = error::peer_left;
            why.peers = {how_.me};
            why.cause = fmt::format("rank {} has closed its communicator, where rank {} called {} (collective #{})", how_.me, who,
                                    words_of(theirs), number);
        } else {
            if (collectives_ - number >= remembered) return;
            const call_signature& mine = recent_[number % remembered];
            if (mine == theirs) return;
            const bool alike = words_of(mine) == words_of(theirs);
            why.code = error::mismatch;
            why.peers = {how_.me, who};
            why.cause = fmt::format("rank {} called {} where rank {} called {} (collective #{})", how_.me, words_of(mine, alike), who,
                                    words_of(theirs, alike), number);
        }
    }
    if (!closed) return fail(std::move(why));
    why.root = how_.me;
    if (how_.tell) how_.tell(why);
}

// ---- ending

void device_engine::fail(report why) noexcept {
    why.communicator = how_.name;
    why.local = how_.me;
    if (why.root < 0) why.root = how_.me;
    {
        const std::lock_guard lock(guard_);
        if (why_ || is_over_) return;
        why_ = why;
        failed_.store(true, std::memory_order_release);
        self_ = handing_over_ = shared_from_this();
        stuck_at_ = later(now(), how_.stuck);
        if (!std::exchange(tend_posted_, true)) post(tend_);
        post_work(hand_over_);
    }
    if (how_.tell) how_.tell(why);
}

std::optional<report> device_engine::failed() const {
    const std::lock_guard lock(guard_);
    return why_;
}

future<> device_engine::idle(time_point limit) {
    std::unique_lock lock(guard_);
    const std::uint64_t number = ++last_waiter_;
    auto ends = detail::make_future<>([self = weak_from_this(), number] {
        if (const auto engine = self.lock()) engine->stop_waiting(number);
    });
    if (why_ ? !told_ : under_way_count_ > 0) {
        idle_.push_back({std::move(ends.second), limit, number});
        if (!why_ && !std::exchange(tend_posted_, true)) post(tend_);
        return std::move(ends.first);
    }
    const std::optional<report> why = why_;
    lock.unlock();
    if (why) ends.second.fail(failure(*why));
    else ends.second.set();
    return std::move(ends.first);
}

void device_engine::stop_waiting(std::uint64_t number) noexcept {
    std::optional<promise> gone;
    {
        const std::lock_guard lock(guard_);
        const auto place = std::find_if(idle_.begin(), idle_.end(), [number](const waiter& each) { return each.number == number; });
        if (place == idle_.end()) return;
        gone = std::move(place->ends);
        idle_.erase(place);
    }
    gone->fail(failure(error::cancelled, "nobody waits for the operations to end any more"));
}

future<> device_engine::close() {
    auto ends = detail::make_future<>();
    std::optional<report> why;
    {
        const std::lock_guard lock(guard_);
        if (!std::exchange(closing_, true) && !why_ && !is_over_) {
            closed_ = std::move(ends.second);
            if (under_way_count_ == 0) end_well();
            return std::move(ends.first);
        }
        why = why_;
    }
    if (why) ends.second.fail(failure(*why));
    else ends.second.fail(failure(error::closed, "the communicator was closed before"));
    return std::move(ends.first);
}

/// With the guard.
void device_engine::end_well() noexcept {
    stuck_at_ = later(now(), how_.stuck);
    if (!std::exchange(tend_posted_, true)) post(tend_);
    post_work(finish_);
}

// ---- the carrier

void device_engine::begin() noexcept { carrier_->begin(); }
void device_engine::finish() noexcept { carrier_->finish(); }

void device_engine::begun() {
    std::optional<promise> begun;
    {
        const std::lock_guard lock(guard_);
        begun = std::exchange(starting_, std::nullopt);
    }
    if (begun) begun->set();
}

void device_engine::arrived_for_issue(operation_state& which) noexcept {
    if (!has_failed()) carrier_->carry_out(which);
}

void device_engine::placed(operation_state& which, event end) noexcept {
    on_device_.fetch_add(1, std::memory_order_relaxed);
    which.placed(std::move(end));
    const std::lock_guard lock(guard_);
    event_loop* const where = which.has_event() ? polls() : progress_;
    if (!where) return;
    which.heard = operation_state::news::asking;
    where->post(which.to_poll());
}

report device_engine::about(const failure& why, const operation_state* which) const {
    report what = why.details();
    what.peers = {how_.me};
    what.cause = fmt::format("rank {} {}: {}", how_.me, place(), what.cause);
    if (which) what.cause += fmt::format(", at {} #{}", to_string(which->what), which->sequence);
    return what;
}

void device_engine::blame(const failure& why, const operation_state* which) noexcept { fail(about(why, which)); }

/// Waits for twice lost_link: a rank that only lost its link to the dead rank waits for lost_link itself, from the time at which it noticed.
void device_engine::suspect(const failure& why, const operation_state* which) noexcept {
    report what = about(why, which);
    if (what.code == error::peer_died) what.peers.clear();  // it is not said which
    const std::lock_guard lock(guard_);
    if (why_ || is_over_ || suspected_) return;
    suspected_ = std::move(what);
    told_by_ = later(later(now(), how_.lost_link), how_.lost_link);
    failed_.store(true, std::memory_order_release);
    if (!std::exchange(tend_posted_, true)) post(tend_);
}

void device_engine::hand_over() noexcept {
    std::shared_ptr<device_engine> self;
    {
        const std::lock_guard lock(guard_);
        self = std::move(handing_over_);
    }
    carrier_->give_up();
}

/// Called twice if a failure comes between the carrier's end and its report, and starts a second end. Only the first call counts.
void device_engine::ended() noexcept {
    const auto self = shared_from_this();
    {
        const std::lock_guard lock(guard_);
        if (std::exchange(has_ended_, true) || leaving_) return;
        if (progress_) return progress_->post(over_);
    }
    over_now();
}

}  // namespace tutti::gpu
