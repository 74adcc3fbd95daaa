// What any thread does: calls, failures, waiting for the end. nccl_engine_issuing.cpp and nccl_engine_progress.cpp have the rest.
#include "gpu/nccl_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::gpu {

nccl_engine::nccl_engine(const nccl_table& nccl, stream over, event_loop& progress, nccl_settings how)
    : nccl_(nccl),
      how_(std::move(how)),
      stream_(std::move(over)),
      home_(stream_.inner()->home()),
      progress_(&progress),
      comm_(nccl, how_.has) {}

nccl_engine::~nccl_engine() = default;

time_point nccl_engine::now() const { return progress_ ? progress_->now() : std::chrono::steady_clock::now(); }

std::string nccl_engine::words() const {
    return fmt::format("NCCL {}.{}.{}", how_.has.version / 10000, how_.has.version / 100 % 100, how_.has.version % 100);
}

std::optional<std::string> nccl_engine::cannot(const device_request& what) const {
    if (!reduces(what.kind)) return {};
    return cannot_reduce(what.type, what.op, how_.has);
}

// ---- beginning

future<> nccl_engine::start(const ncclUniqueId& id, duration within) {
    auto ends = detail::make_future<>();
    const std::lock_guard lock(guard_);
    if (why_) {
        ends.second.fail(failure(*why_));
        return std::move(ends.first);
    }
    self_ = shared_from_this();
    id_ = id;
    starting_ = std::move(ends.second);
    start_by_ = now() + within;
    if (!std::exchange(tend_posted_, true)) post(tend_);
    home_->issuing().post(initialize_);
    return std::move(ends.first);
}

// ---- a call

operation nccl_engine::issue(operation_state& which) {
    operation handle(which);
    std::optional<report> refused;
    {
        const std::lock_guard lock(guard_);
        if (why_) {
            refused = why_;
        } else if (closing_ || under_way_count_ == at_most) {
            refused.emplace();
            refused->code = closing_ ? error::closed : error::invalid_argument;
            refused->cause = closing_ ? "the communicator is closed" : fmt::format("{} operations are under way", at_most);
        } else {
            which.sequence = ++issued_;
            which.issued = now();
            which.deadline = which.issued + (which.what.deadline > duration{} ? which.what.deadline : how_.operation);
            time_point date = which.deadline;
            if (which.what.kind != device_collective::exchange) {
                which.collective = ++collectives_;
                recent_[collectives_ % remembered] = describe(which.what);
                if (collectives_under_way_++ == 0) date = std::min(date, which.issued + which.patience);
            }
            under_way_.push(which);
            ++under_way_count_;
            if (date < armed_ && !std::exchange(tend_posted_, true)) post(tend_);
            home_->issuing().post(which.to_issue());  // with the guard: places in the order and turns go together
        }
    }
    if (refused) {
        const failure why = told(*refused, &which);
        which.end(&why);
        which.let_go();
    }
    return handle;
}

/// Of this engine's failure, what one operation says.
failure nccl_engine::told(const report& why, const operation_state* which) const {
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

void nccl_engine::compare(rank who, std::uint64_t number, const descriptor& theirs) noexcept {
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
            const descriptor& mine = recent_[number % remembered];
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

void nccl_engine::fail(report why) noexcept {
    why.communicator = how_.name;
    why.local = how_.me;
    if (why.root < 0) why.root = how_.me;
    {
        const std::lock_guard lock(guard_);
        if (why_ || is_over_) return;
        why_ = why;
        failed_.store(true, std::memory_order_release);
        self_ = handing_over_ = shared_from_this();
        stuck_at_ = now() + home_->options().stuck;
        if (!std::exchange(tend_posted_, true)) post(tend_);
        home_->issuing().post(hand_over_);
    }
    if (how_.tell) how_.tell(why);
}

std::optional<report> nccl_engine::failed() const {
    const std::lock_guard lock(guard_);
    return why_;
}

future<> nccl_engine::idle() {
    auto ends = detail::make_future<>();
    std::optional<report> why;
    {
        const std::lock_guard lock(guard_);
        if (why_ ? !told_ : under_way_count_ > 0) {
            idle_.push_back(std::move(ends.second));
            return std::move(ends.first);
        }
        why = why_;
    }
    if (why) ends.second.fail(failure(*why));
    else ends.second.set();
    return std::move(ends.first);
}

future<> nccl_engine::close() {
    auto ends = detail::make_future<>();
    std::optional<report> why;
    {
        const std::lock_guard lock(guard_);
        if (!std::exchange(closing_, true) && !why_ && !is_over_) {
            closed_ = std::move(ends.second);
            stuck_at_ = now() + home_->options().stuck;
            if (!std::exchange(tend_posted_, true)) post(tend_);
            home_->issuing().post(finalize_);
            return std::move(ends.first);
        }
        why = why_;
    }
    if (why) ends.second.fail(failure(*why));
    else ends.second.fail(failure(error::closed, "the communicator was closed before"));
    return std::move(ends.first);
}

}  // namespace tutti::gpu
