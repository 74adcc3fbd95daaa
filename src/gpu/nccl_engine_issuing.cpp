// What the device's issuing loop does, the only one that calls NCCL for what is not over; and the end, on the lifecycle's.
#include "gpu/nccl_engine.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

using state = nccl_comm::state;

void nccl_engine::blame(const failure& why, const operation_state* which) noexcept {
    report what = why.details();
    what.peers = {how_.me};
    what.cause = fmt::format("rank {} on device {}: {}", how_.me, home_->ordinal(), what.cause);
    if (which) what.cause += fmt::format(", at {} #{}", to_string(which->what), which->sequence);
    fail(std::move(what));
}

// ---- the communicator's beginning

void nccl_engine::initialize() noexcept {
    if (failed_.load(std::memory_order_acquire)) return;
    const on_device here(home_->driver(), home_->context());
    step_ = step::initializing;
    if (!initialized(comm_.initialize(id_, how_.size, how_.me))) turns().await(*this);
}

bool nccl_engine::initialized(state is) noexcept {
    if (is == state::in_progress) return false;
    if (is == state::failed) {
        blame(comm_.why(), nullptr);
        return true;
    }
    step_ = step::open;
    native_.store(comm_.handle(), std::memory_order_release);
    std::optional<promise> begun;
    {
        const std::lock_guard lock(guard_);
        begun = std::exchange(starting_, std::nullopt);
    }
    if (begun) begun->set();
    return true;
}

// ---- operations

void nccl_engine::arrived_for_issue(operation_state& which) noexcept {
    if (!failed_.load(std::memory_order_acquire)) turns().add(*this, which);
}

bool nccl_engine::launch(operation_state& which) noexcept {
    if (failed_.load(std::memory_order_acquire)) return true;
    if (which.what.after.valid()) {
        const auto ordered = stream_.wait(which.what.after);
        which.what.after = event();
        if (!ordered) {
            blame(ordered.failure(), &which);
            return true;
        }
    }
    // NCCL drops what has no elements; it keeps its place here.
    if (which.what.total() == 0) return place(which);
    switch (comm_.issue(which.what, stream_.handle())) {
        case state::ready: return place(which);
        case state::in_progress: launched_ = &which; return false;
        case state::failed: blame(comm_.why(), &which); break;
    }
    return true;
}

bool nccl_engine::proceed() noexcept {
    const state is = comm_.ask();
    if (step_ == step::initializing) return initialized(is);
    if (step_ == step::finalizing) return finalized(is);
    if (is == state::in_progress) return false;
    operation_state& which = *std::exchange(launched_, nullptr);
    if (is == state::ready) return place(which);
    blame(comm_.why(), &which);
    return true;
}

/// Only now anything else may be put on the stream: NCCL has done so itself. From the post on the operation may end, and be another one.
bool nccl_engine::place(operation_state& which) noexcept {
    auto end = stream_.record();
    if (!end) {
        blame(end.failure(), &which);
        return true;
    }
    on_device_.fetch_add(1, std::memory_order_relaxed);
    turns().watch(*this);
    which.placed(std::move(*end));
    const std::lock_guard lock(guard_);
    post(which.to_poll());
    return true;
}

/// Errors that come while the device works, or while it waits for ranks that are gone.
bool nccl_engine::look_after() noexcept {
    if (failed_.load(std::memory_order_acquire) || on_device_.load(std::memory_order_relaxed) == 0) return false;
    if (!launched_ && comm_.ask() == state::failed) {
        blame(comm_.why(), nullptr);
        return false;
    }
    return true;
}

// ---- the end

void nccl_engine::finalize() noexcept {
    if (failed_.load(std::memory_order_acquire)) return;
    const on_device here(home_->driver(), home_->context());
    step_ = step::finalizing;
    if (!finalized(comm_.finalize())) turns().await(*this);
}

bool nccl_engine::finalized(state is) noexcept {
    if (is == state::in_progress) return false;
    if (is == state::failed) {
        blame(comm_.why(), nullptr);
        return true;
    }
    step_ = step::ending;
    turns().remove(*this);
    home_->lifecycle().later("ncclCommDestroy", [self = shared_from_this()] { self->destroy(); });
    return true;
}

/// Nobody here calls NCCL for it from now on.
void nccl_engine::hand_over() noexcept {
    std::shared_ptr<nccl_engine> self;
    {
        const std::lock_guard lock(guard_);
        self = std::move(handing_over_);
    }
    turns().remove(*this);
    launched_ = nullptr;
    if (step_ == step::ending || step_ == step::ended) return;
    step_ = step::ending;
    if (comm_.exists()) home_->lifecycle().later("ncclCommAbort", [self] { self->abort(); });
    else ended();
}

void nccl_engine::destroy() noexcept {
    native_.store(nullptr, std::memory_order_release);
    result<> done;
    {
        const on_device here(home_->driver(), home_->context());
        done = comm_.destroy();
    }
    if (!done) blame(done.failure(), nullptr);
    ended();
}

/// Kernels leave when they see the abort; what the operations held is held until then.
void nccl_engine::abort() noexcept {
    native_.store(nullptr, std::memory_order_release);
    {
        const on_device here(home_->driver(), home_->context());
        static_cast<void>(comm_.abort());  // there is a cause already
    }
    if (auto last = stream_.record())
        static_cast<void>(home_->call("cuEventSynchronize",
                                      [&](const driver_table& driver) { return driver.cuEventSynchronize(last->inner()->handle); }));
    ended();
}

void nccl_engine::ended() noexcept {
    const auto self = shared_from_this();
    {
        const std::lock_guard lock(guard_);
        if (progress_ && !std::exchange(over_posted_, true)) return progress_->post(over_);
    }
    over_now();
}

}  // namespace tutti::gpu
