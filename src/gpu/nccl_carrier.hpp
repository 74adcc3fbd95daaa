// Carries operations out by NCCL, on one communication stream, in the order of the calls.
//
// It runs on the device's issuing loop, where the issuer gives it its turns. The stream waits for the caller's event, NCCL puts the operation on the
// stream, and `placed` gets the event behind it. Only that loop calls NCCL while the communicator works. The communicator is destroyed on the
// lifecycle's thread, and aborted on a thread beside it. staged_carrier has no such turns: it makes no call of which a device allows one at a time.
#pragma once

#include "gpu/device_engine.hpp"
#include "gpu/issuer.hpp"
#include "gpu/nccl_birth.hpp"
#include "gpu/nccl_comm.hpp"

#include <tutti/gpu/stream.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace tutti::gpu {

class nccl_carrier final : public carrier, issuing {
public:
    /// The table and the engine must outlive it.
    nccl_carrier(device_engine& engine, const nccl_table& nccl, stream over, nccl_abilities has);

    /// Sets the id by which the ranks meet, before the engine's start.
    void meet_by(const ncclUniqueId& id) { id_ = id; }
    /// Sets the communicator that another one has made, in place of an id.
    void meet_by(std::shared_ptr<nccl_birth> born) { born_ = std::move(born); }

    std::optional<std::string> cannot(const device_request& what) const override;
    std::string words() const override;
    std::string what() const override;
    ncclComm_t native() const noexcept override { return native_.load(std::memory_order_acquire); }

    void begin() noexcept override;
    void carry_out(operation_state& which) noexcept override;
    void finish() noexcept override;
    void give_up() noexcept override;

private:
    enum class step { none, initializing, open, finalizing, ending, ended };

    bool launch(operation_state& which) noexcept override;
    bool proceed() noexcept override;
    bool look_after() noexcept override;
    bool call(operation_state& which) noexcept;
    bool is_held_up() const noexcept;
    bool enqueue(operation_state& which) noexcept;
    bool initialized(nccl_comm::state is) noexcept;
    bool finalized(nccl_comm::state is) noexcept;
    failure why() const;
    void complain(const operation_state* which) noexcept;
    issuer& turns() { return issuer::of(card_, card_->issuing()); }

    void destroy() noexcept;  // on the lifecycle's thread
    void abort() noexcept;    // on a thread of its own

    device_engine& engine_;
    const nccl_abilities has_;
    const stream stream_;
    const std::shared_ptr<device_state> card_;
    std::atomic<ncclComm_t> native_{nullptr};
    nccl_comm comm_;
    ncclUniqueId id_{};
    std::shared_ptr<nccl_birth> born_;
    step step_ = step::none;
    operation_state* launched_ = nullptr;
};

}  // namespace tutti::gpu
