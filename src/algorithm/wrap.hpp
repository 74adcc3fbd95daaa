// Arithmetic on ranks around a circle.
#pragma once

#include <tutti/types.hpp>

namespace tutti {

/// `index` modulo `size`, from 0 to size - 1 also for negative ones.
constexpr int wrap(int index, int size) noexcept { return (index % size + size) % size; }

}  // namespace tutti
