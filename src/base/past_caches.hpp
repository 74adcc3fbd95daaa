// Writes memory that is not read soon past the caches. An ordinary store fetches the line first, and evicts another line.
#pragma once

#include <cstddef>

namespace tutti {

/// memcpy that leaves the target in no cache, if the processor can do that. Other threads see the bytes as they see ordinary stores.
void copy_past_caches(void* target, const void* source, std::size_t bytes) noexcept;

/// Returns the bytes of the third-level cache of the first core; 32 MiB if there is none, or the system does not say.
std::size_t last_cache_bytes() noexcept;

}  // namespace tutti
