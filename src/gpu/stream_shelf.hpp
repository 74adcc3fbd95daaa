// The library's own streams for host functions. They carry no work, since a host function holds up the work behind it; they wait for events of other
// streams.
#pragma once

#include "gpu/tables.hpp"

#include <mutex>
#include <vector>

namespace tutti::gpu {

/// Belongs to its device_state. Used by any thread, with the device current.
class stream_shelf {
public:
    static constexpr std::size_t at_most = 4;  // further streams are looked at every 10 ms when they are cold

    explicit stream_shelf(const driver_table& driver) noexcept : driver_(driver) {}
    /// Takes a stream; null when all are taken or none can be made.
    CUstream take();
    void give(CUstream which);
    void clear();

private:
    const driver_table& driver_;
    std::mutex guard_;
    std::vector<CUstream> here_;
    std::size_t made_ = 0;
};

}  // namespace tutti::gpu
