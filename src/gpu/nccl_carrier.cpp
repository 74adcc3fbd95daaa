#include "gpu/nccl_carrier.hpp"

#include "gpu/event_state.hpp"
#include "gpu/stream_state.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

using state = nccl_comm::state;

nccl_carrier::nccl_carrier(device_engine& engine, const nccl_table& nccl, stream over, nccl_abilities has)
    : engine_(engine),
      has_(has),
      stream_(std::move(over)),
      card_(engine.card()),
      comm_(nccl, has) {}

std::string nccl_carrier::words() const {
    return fmt::format("NCCL {}.{}.{}", has_.version / 10000, has_.version / 100 % 100, has_.version % 100);
}

std::string nccl_carrier::what() const { return fmt::format("NCCL's communicator on device {}", card_->ordinal()); }

std::optional<std::string> nccl_carrier::cannot(const device_request& what) const {
    if (!reduces(what.kind)) return {};
    return cannot_reduce(what.type, what.op, has_);
}

/// NCCL says only that the device failed. So the driver is asked for the error, which it still reports if the device is broken.
failure nccl_carrier::why() const {
    if (comm_.why().code() != error::device_failed) return comm_.why();
    const on_device here(card_->driver(), card_->context());
    static_cast<void>(refuse_stream(*card_, stream_.handle()));
    const failure* const fault = card_->fault();
    return fault != nullptr ? *fault : comm_.why();
}

/// A `system` or remote error may be the symptom of another rank's death, so it is only suspected.
void nccl_carrier::complain(const operation_state* which) noexcept {
    const failure what = why();
    if (what.code() == error::system || what.code() == error::peer_died) engine_.suspect(what, which);
    else engine_.blame(what, which);
}

// ---- the communicator's beginning

void nccl_carrier::begin() noexcept {
    if (engine_.has_failed()) return;
    const on_device here(card_->driver(), card_->context());
    step_ = step::initializing;
    const int size = engine_.how().size, me = engine_.how().me;
    if (!initialized(born_ ? comm_.adopt(born_->take(), size, me) : comm_.initialize(id_, size, me))) turns().await(*this);
}

bool nccl_carrier::initialized(state is) noexcept {
    if (is == state::in_progress) return false;
    if (is == state::failed) {
        complain(nullptr);
        return true;
    }
    step_ = step::open;
    native_.store(comm_.handle(), std::memory_order_release);
    engine_.begun();
    return true;
}

// ---- operations

void nccl_carrier::carry_out(operation_state& which) noexcept { turns().add(*this, which); }

bool nccl_carrier::launch(operation_state& which) noexcept {
    if (engine_.has_failed()) return true;
    const event after = std::exchange(which.what.after, {});
    const auto ready = after.valid() ? stream_.wait(after) : refuse_stream(*card_, stream_.handle());
    if (!ready) {
        engine_.blame(ready.failure(), &which);
        return true;
    }
    // NCCL drops calls without elements, so they keep only their turn here.
    if (which.what.total() == 0 && !which.what.born) return enqueue(which);
    launched_ = &which;
    if (is_held_up()) return false;
    return call(*std::exchange(launched_, nullptr));
}

/// NCCL splits and shrinks a communicator only while none of its operations is on the device.
bool nccl_carrier::is_held_up() const noexcept {
    const auto& born = launched_->what.born;
    return born && !born->begun && engine_.on_device() > 0;
}

bool nccl_carrier::call(operation_state& which) noexcept {
    if (which.what.born) which.what.born->begun = true;
    switch (comm_.issue(which.what, stream_.handle())) {
        case state::ready: return enqueue(which);
        case state::in_progress: launched_ = &which; return false;
        case state::failed: complain(&which); break;
    }
    return true;
}

bool nccl_carrier::proceed() noexcept {
    if (launched_ && launched_->what.born && !launched_->what.born->begun) {
        if (is_held_up()) return false;
        return call(*std::exchange(launched_, nullptr));
    }
    const state is = comm_.ask();
    if (step_ == step::initializing) return initialized(is);
    if (step_ == step::finalizing) return finalized(is);
    if (is == state::in_progress) return false;
    operation_state& which = *std::exchange(launched_, nullptr);
    if (is == state::ready) return enqueue(which);
    complain(&which);
    return true;
}

/// Nothing else may be put on the stream before: NCCL has put all of the operation there only now.
bool nccl_carrier::enqueue(operation_state& which) noexcept {
    auto end = stream_.record();
    if (!end) {
        engine_.blame(end.failure(), &which);
        return true;
    }
    turns().watch(*this);
    engine_.placed(which, std::move(*end));
    return true;
}

/// Errors that come while the device works, or while it waits for ranks that are gone.
bool nccl_carrier::look_after() noexcept {
    if (engine_.has_failed() || engine_.on_device() == 0) return false;
    if (!launched_ && comm_.ask() == state::failed) {
        complain(nullptr);
        return false;
    }
    return true;
}

// ---- the end

void nccl_carrier::finish() noexcept {
    if (engine_.has_failed()) return;
    const on_device here(card_->driver(), card_->context());
    step_ = step::finalizing;
    if (!finalized(comm_.finalize())) turns().await(*this);
}

bool nccl_carrier::finalized(state is) noexcept {
    if (is == state::in_progress) return false;
    if (is == state::failed) {
        complain(nullptr);
        return true;
    }
    step_ = step::ending;
    turns().remove(*this);
    card_->lifecycle().later("ncclCommDestroy", [this, self = engine_.shared_from_this()] { destroy(); });
    return true;
}

/// The issuing loop does not call NCCL for this communicator from now on.
void nccl_carrier::give_up() noexcept {
    turns().remove(*this);
    launched_ = nullptr;
    if (step_ == step::ending || step_ == step::ended) return;
    step_ = step::ending;
    if (comm_.exists()) card_->lifecycle().beside("ncclCommAbort", [this, self = engine_.shared_from_this()] { abort(); });
    else engine_.ended();
}

void nccl_carrier::destroy() noexcept {
    native_.store(nullptr, std::memory_order_release);
    result<> done;
    {
        const on_device here(card_->driver(), card_->context());
        done = comm_.destroy();
    }
    if (!done) engine_.blame(done.failure(), nullptr);
    engine_.ended();
}

/// Kernels end when they see the abort. The operations' buffers are kept until then.
void nccl_carrier::abort() noexcept {
    native_.store(nullptr, std::memory_order_release);
    {
        const on_device here(card_->driver(), card_->context());
        static_cast<void>(comm_.abort());  // there is a cause already
    }
    if (auto last = stream_.record())
        static_cast<void>(card_->call("cuEventSynchronize",
                                      [&](const driver_table& driver) { return driver.cuEventSynchronize(last->inner()->handle); }));
    engine_.ended();
}

}  // namespace tutti::gpu
