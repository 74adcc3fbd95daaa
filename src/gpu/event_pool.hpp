// A device's events: made beforehand, without timing, and used again.
#pragma once

#include "gpu/tables.hpp"

#include <cstddef>
#include <mutex>
#include <vector>

namespace tutti::gpu {

/// Belongs to its device_state. Any thread may use it; the device must be current in `take`, `fill` and `clear`.
class event_pool {
public:
    static constexpr std::size_t at_first = 64;
    static constexpr std::size_t at_most = std::size_t{1} << 20;  // so a program that never releases events fails instead of eating memory

    explicit event_pool(const driver_table& driver) noexcept : driver_(driver) {}

    CUresult fill();
    /// Takes an event, and makes one if the pool is empty; CUDA_ERROR_OUT_OF_MEMORY when too many are out.
    CUresult take(CUevent& place);
    /// Returns an event that is not waited for any more.
    void give(CUevent which);
    /// Destroys the events in the pool, and returns how many are still out.
    std::size_t clear();
    std::size_t made() const;

private:
    CUresult make(CUevent& place);

    const driver_table& driver_;
    mutable std::mutex guard_;
    std::vector<CUevent> here_;
    std::size_t made_ = 0;
};

}  // namespace tutti::gpu
