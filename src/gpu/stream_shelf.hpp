// Streams of the library's own that carry no work, only host functions which wait for others' events. Few, and kept.
#pragma once

#include "gpu/tables.hpp"

#include <mutex>
#include <vector>

namespace tutti::gpu {

/// Used by any thread, with the device current.
class stream_shelf {
public:
    static constexpr std::size_t at_most = 4;

    explicit stream_shelf(const driver_table& driver) noexcept : driver_(driver) {}
    /// Null when all are taken, or none can be had.
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
