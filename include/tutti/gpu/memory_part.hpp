// Some bytes of a buffer, with what keeps it alive: what copies go between.
#pragma once

#include <tutti/gpu/event.hpp>

#include <cstddef>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

// With constructors, as g++ 12 destroys aggregates in co_await expressions twice.

/// Of a device_buffer.
struct device_part {
    device_part(void* where, std::size_t length, keep_alive what) noexcept : data(where), bytes(length), kept(std::move(what)) {}

    void* data;
    std::size_t bytes;
    keep_alive kept;
};

/// Of a pinned_buffer. Other memory of the host works, too, but slowly, and the call may block.
struct host_part {
    host_part(void* where, std::size_t length, keep_alive what) noexcept : data(where), bytes(length), kept(std::move(what)) {}

    void* data;
    std::size_t bytes;
    keep_alive kept;
};

}  // namespace gpu
}  // namespace tutti
