#include "device/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace tutti::gpu {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t largest_element = 16;  // of the types that have a name

}  // namespace

/// All ranks' blocks of at least one element fit a chunk, twice.
staging::staging(std::string why_so, std::size_t chunk, int window, int ranks)
    : why(std::move(why_so)),
      chunk_bytes(
          (std::max({std::min(chunk, largest_chunk), smallest_chunk, 2 * largest_element * static_cast<std::size_t>(ranks)}) + page - 1) /
          page * page),
      slots(static_cast<std::size_t>(window)) {}

result<std::shared_ptr<void>> host_memory(std::size_t bytes) {
    void* const memory = ::operator new(bytes, std::align_val_t(page), std::nothrow);
    if (!memory) return failure(error::system, fmt::format("the host has no {} bytes of memory", bytes));
    return std::shared_ptr<void>(memory, [](void* what) { ::operator delete(what, std::align_val_t(page)); });
}

}  // namespace tutti::gpu
