// Moving bytes between host and devices, on a stream.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/future.hpp>
#include <tutti/gpu/memory_part.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/result.hpp>

#include <cstddef>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// Enqueued when it returns, and completed when the future ends. Both buffers are kept until then, also when the future was cancelled or
/// dropped; their bytes must be left alone. Fails with error::invalid_argument for parts of different length, and with error::unsupported
/// while the stream is being captured.
TUTTI_API future<> copy(const stream& on, device_part to, host_part from);
TUTTI_API future<> copy(const stream& on, host_part to, device_part from);
TUTTI_API future<> copy(const stream& on, device_part to, device_part from);
TUTTI_API future<> fill(const stream& on, device_part to, std::byte value);

/// The same without a future: the caller sees to it that the buffers live until the stream has done with them.
TUTTI_API result<> enqueue_copy(const stream& on, const device_part& to, const host_part& from);
TUTTI_API result<> enqueue_copy(const stream& on, const host_part& to, const device_part& from);
TUTTI_API result<> enqueue_copy(const stream& on, const device_part& to, const device_part& from);
TUTTI_API result<> enqueue_fill(const stream& on, const device_part& to, std::byte value);

}  // namespace gpu
}  // namespace tutti
