// Some bytes of a buffer, with what keeps it alive: what copies go between.
#pragma once

#include <tutti/gpu/event.hpp>

#include <cstddef>

namespace tutti::gpu {

/// Of a device_buffer.
struct device_part {
    void* data = nullptr;
    std::size_t bytes = 0;
    keep_alive kept;
};

/// Of a pinned_buffer. Other memory of the host works, too, but slowly, and the call may block.
struct host_part {
    void* data = nullptr;
    std::size_t bytes = 0;
    keep_alive kept;
};

}  // namespace tutti::gpu
