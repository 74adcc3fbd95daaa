// The way in which a device_engine's operations are carried out: by NCCL, or through the host.
#pragma once

#include "gpu/operation_state.hpp"

#include <memory>
#include <optional>
#include <string>

struct ncclComm;

namespace tutti::gpu {

/// Owned by its engine, which it tells how far it is.
class carrier {
public:
    virtual ~carrier() = default;

    // Any thread.
    /// Why a request whose arguments are right cannot be carried out, here and on all ranks.
    virtual std::optional<std::string> cannot(const device_request& what) const = 0;
    /// For people: "NCCL 2.28.9".
    virtual std::string words() const = 0;
    /// What is ended and aborted: "NCCL's communicator on device 0".
    virtual std::string what() const = 0;
    /// Null where there is none.
    virtual ncclComm* native() const noexcept { return nullptr; }

    // On the working loop.
    /// Until device_engine::begun, or a failure.
    virtual void begin() noexcept = 0;
    /// In the order of the calls. Until device_engine::placed, or a failure.
    virtual void carry_out(operation_state& which) noexcept = 0;
    /// When nothing is under way: gives everything back, until device_engine::ended, or a failure.
    virtual void finish() noexcept = 0;
    /// After a failure: leaves the operations alone, until device_engine::ended, when nothing uses their memory any more. Where the progress
    /// loop is the working one it may be gone.
    virtual void give_up() noexcept = 0;

protected:
    carrier() = default;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;
};

}  // namespace tutti::gpu
