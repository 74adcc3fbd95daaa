// Arrays in memory that the other ranks of this host can read in place.
#pragma once

#include <tutti/types.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {

class arena;

namespace detail {

struct arena_deleter {
    std::shared_ptr<arena> from;
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept;
};
using arena_memory = std::unique_ptr<std::byte[], arena_deleter>;

}  // namespace detail

/// An array of `size()` elements, made by communicator::allocate. It may outlive its communicator and context. Like any buffer it stays
/// alive until the futures of its operations have ended.
template <element T>
class shared_array {
public:
    using value_type = T;

    shared_array() = default;
    /// For the library.
    shared_array(detail::arena_memory memory, std::size_t count) noexcept : memory_(std::move(memory)), count_(count) {}
    shared_array(shared_array&& other) noexcept : memory_(std::move(other.memory_)), count_(std::exchange(other.count_, 0)) {}
    shared_array& operator=(shared_array&& other) noexcept {
        memory_ = std::move(other.memory_);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }

    /// The elements as those of a std::span.
    T* data() noexcept { return reinterpret_cast<T*>(memory_.get()); }
    const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.get()); }
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + count_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + count_; }
    T& operator[](std::size_t index) noexcept { return data()[index]; }
    const T& operator[](std::size_t index) const noexcept { return data()[index]; }

private:
    detail::arena_memory memory_;
    std::size_t count_ = 0;
};

}  // namespace tutti
