// A buffer of a port lane in which a slice that is to be reduced lands, and waits for the end of its round. Few and reused, so they stay in
// the cache.
#pragma once

#include <cstddef>
#include <memory>

namespace tutti {

class operation;

/// Holds one slice of one step of an operation; free while `of` is null.
struct bounce {
    operation* of = nullptr;
    int step = 0;
    std::size_t slice = 0;
    bool settled = false;  // a spread lane has reduced it already, without the guard
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;

    bool holds(const operation& whose, int which, std::size_t part) const noexcept { return of == &whose && step == which && slice == part; }
};

}  // namespace tutti
