// A device's events: made beforehand, without timing, and used again and again.
#pragma once

#include "gpu/tables.hpp"

#include <cstddef>
#include <mutex>
#include <vector>

namespace tutti::gpu {

/// Used by any thread. Its device is current where something is taken, filled or cleared.
class event_pool {
public:
    static constexpr std::size_t at_first = 64;
    static constexpr std::size_t at_most = std::size_t{1} << 20;  // a program that records and never lets go fails instead of eating memory

    explicit event_pool(const driver_table& driver) noexcept : driver_(driver) {}

    CUresult fill();
    /// Makes one when there is none; CUDA_ERROR_OUT_OF_MEMORY when there are too many.
    CUresult take(CUevent& place);
    /// Nobody asks for it any more, and the device has come there unless nobody ever did.
    void give(CUevent which);
    /// Destroys those that are here, and says how many are not.
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
