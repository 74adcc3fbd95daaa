// Memory that is written and not read soon. An ordinary store fetches the line first, and puts something else out of the caches.
#pragma once

#include <cstddef>

namespace tutti {

/// memcpy that leaves the target in no cache, where the processor can. Other threads see it as they see ordinary stores.
void copy_past_caches(void* target, const void* source, std::size_t bytes) noexcept;

/// Bytes of the third cache that the first core has a part in; 32 MiB where there is none, or the system does not tell.
std::size_t last_cache_bytes() noexcept;

}  // namespace tutti
