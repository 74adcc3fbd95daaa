// How a device_engine's operations are carried out: by NCCL, or through the host.
#pragma once

#include "gpu/operation_state.hpp"

#include <memory>
#include <optional>
#include <string>

struct ncclComm;

namespace tutti::gpu {

/// The part of a device_engine that moves the bytes. Its engine owns it and calls it on the working loop (device_engine::work); it reports to the
/// engine with `begun`, `placed`, `blame`, `suspect` and `ended`. It keeps no order, deadline or failure: those are the engine's.
///
/// - nccl_carrier calls NCCL on one communication stream. NCCL's kernels move the bytes from device to device, and the call returns at once. An
///   operation is `placed` when NCCL has put it on the stream.
/// - staged_carrier (src/device) cuts the operation into chunks, copies each to pinned memory, calls the host's collective for it, and copies the result
///   back. An operation is `placed` when its last copy is on the stream. It also serves ranks without a device, without copies.
class carrier {
public:
    virtual ~carrier() = default;

    // Any thread.
    /// Returns the reason for which a correct request cannot be carried out; the same on all ranks.
    virtual std::optional<std::string> cannot(const device_request& what) const = 0;
    /// Returns a name for messages: "NCCL 2.28.9".
    virtual std::string words() const = 0;
    /// Returns the name of the thing that is ended or aborted: "NCCL's communicator on device 0".
    virtual std::string what() const = 0;
    /// Returns NCCL's communicator; null where there is none.
    virtual ncclComm* native() const noexcept { return nullptr; }

    // On the working loop.
    /// Begins; calls device_engine::begun when it is done, or reports a failure.
    virtual void begin() noexcept = 0;
    /// Carries an operation out; calls device_engine::placed when it is on the device, or reports a failure. Called in the order of the calls.
    virtual void carry_out(operation_state& which) noexcept = 0;
    /// Gives everything back; calls device_engine::ended when it is done, or reports a failure. Called when nothing is under way.
    virtual void finish() noexcept = 0;
    /// Aborts after a failure and touches no operation any more; calls device_engine::ended when nothing uses their memory. If the progress loop is the
    /// working loop, it may be gone.
    virtual void give_up() noexcept = 0;

protected:
    carrier() = default;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;
};

}  // namespace tutti::gpu
