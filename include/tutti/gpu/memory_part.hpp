// Parts of buffers, with a keep-alive: sources and targets of copies.
#pragma once

#include <tutti/gpu/event.hpp>

#include <cstddef>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

// With constructors, because g++ 12 destroys aggregates in co_await expressions twice.

/// A part of a device_buffer, `bytes` long.
struct device_part {
    device_part(void* where, std::size_t length, keep_alive what) noexcept : data(where), bytes(length), kept(std::move(what)) {}

    void* data;
    std::size_t bytes;
    keep_alive kept;
};

/// A part of a pinned_buffer, `bytes` long. Other host memory works too, but slowly, and the call may block.
struct host_part {
    host_part(void* where, std::size_t length, keep_alive what) noexcept : data(where), bytes(length), kept(std::move(what)) {}

    void* data;
    std::size_t bytes;
    keep_alive kept;
};

}  // namespace gpu
}  // namespace tutti
