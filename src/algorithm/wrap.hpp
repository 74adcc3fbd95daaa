// Arithmetic on ranks around a circle.
#pragma once

#include <tutti/types.hpp>

namespace tutti {

/// Returns `index` modulo `size`, from 0 to size - 1 also for a negative index.
constexpr int wrap(int index, int size) noexcept { return (index % size + size) % size; }

}  // namespace tutti
