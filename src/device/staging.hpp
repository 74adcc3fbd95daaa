// The host memory through which chunks go between a device and the links, and the streams that copy them. A staged_carrier owns one.
#pragma once

#include <tutti/gpu/stream.hpp>
#include <tutti/result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace tutti::gpu {

class staging {
public:
    static constexpr std::size_t smallest_chunk = 4096, largest_chunk = std::size_t{1} << 30;
    static constexpr int narrowest = 2, widest = 64;  // chunks

    /// `chunk` must be the same on all ranks; it is brought between the limits. `window` must be within its limits.
    staging(std::string why_so, std::size_t chunk, int window, int ranks);

    std::size_t bytes() const noexcept { return chunk_bytes * slots; }
    std::byte* slot(std::size_t number) const noexcept { return static_cast<std::byte*>(memory.get()) + number % slots * chunk_bytes; }
    /// Returns the length of a piece of a message. It depends on the chunk only, so both ends cut messages alike.
    std::size_t message_bytes() const noexcept { return chunk_bytes / 8; }

    std::string why;
    std::size_t chunk_bytes;
    std::size_t slots;
    std::optional<stream> in, out;  // to the device, and from it; none on a rank without a device
    std::shared_ptr<void> memory;   // pinned where there is a device
};

/// Returns memory that costs nothing until its pages are touched.
result<std::shared_ptr<void>> host_memory(std::size_t bytes);

}  // namespace tutti::gpu
