// Copies between host and devices, on a stream.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/future.hpp>
#include <tutti/gpu/memory_part.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/result.hpp>

#include <cstddef>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// Copies or fills: enqueued when the call returns, completed when the future ends. Both buffers are kept until then, even if the future is
/// cancelled or dropped; leave their bytes alone. Fails with error::invalid_argument for parts of different lengths, and with
/// error::unsupported while the stream is being captured.
TUTTI_API future<> copy(const stream& on, device_part to, host_part from);
TUTTI_API future<> copy(const stream& on, host_part to, device_part from);
TUTTI_API future<> copy(const stream& on, device_part to, device_part from);
TUTTI_API future<> fill(const stream& on, device_part to, std::byte value);

/// Enqueues without a future: the caller keeps the buffers alive until the stream has finished with them.
TUTTI_API result<> enqueue_copy(const stream& on, const device_part& to, const host_part& from);
TUTTI_API result<> enqueue_copy(const stream& on, const host_part& to, const device_part& from);
TUTTI_API result<> enqueue_copy(const stream& on, const device_part& to, const device_part& from);
TUTTI_API result<> enqueue_fill(const stream& on, const device_part& to, std::byte value);

}  // namespace gpu
}  // namespace tutti
