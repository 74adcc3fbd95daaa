// Where slices that are to be reduced land, and wait for the end of their round. Few and reused, so they stay in cache.
#pragma once

#include <cstddef>
#include <memory>

namespace tutti {

class operation;

/// One slice of one step of an operation, or free.
struct bounce {
    operation* of = nullptr;
    int step = 0;
    std::size_t slice = 0;
    bool settled = false;  // it has been reduced already, and is to be left
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;

    bool holds(const operation& whose, int which, std::size_t part) const noexcept { return of == &whose && step == which && slice == part; }
};

}  // namespace tutti
