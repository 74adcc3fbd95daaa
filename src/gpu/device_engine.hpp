// Who carries out what is called on a group's devices. One way or another: NCCL, or through the host.
#pragma once

#include "gpu/operation_state.hpp"

#include <tutti/future.hpp>
#include <tutti/gpu/operation.hpp>

#include <optional>
#include <string>

struct ncclComm;

namespace tutti::gpu {

/// Every function may be called from any thread.
class device_engine {
public:
    /// An empty one, to be filled in and issued.
    virtual operation_state& take() = 0;
    /// Its place in the order is taken when this returns.
    virtual operation issue(operation_state& which) = 0;
    /// Why a request whose arguments are right cannot be carried out, here and on all ranks.
    virtual std::optional<std::string> cannot(const device_request& what) const = 0;

    /// Ends everything with this, and, by the group, on all ranks. The first cause stays.
    virtual void fail(report why) noexcept = 0;
    virtual std::optional<report> failed() const = 0;
    /// Ends when nothing is under way; or when it has failed and the failure has been dealt with, as well as that can be done.
    virtual future<> idle() = 0;
    /// When nothing is under way: gives everything back, or fails when that takes too long.
    virtual future<> close() = 0;

    /// For people: "NCCL 2.28.9".
    virtual std::string words() const = 0;
    /// Null where there is none.
    virtual ncclComm* native() const noexcept = 0;

protected:
    ~device_engine() = default;
};

}  // namespace tutti::gpu
