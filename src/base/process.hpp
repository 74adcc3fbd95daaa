// Which process this is. A forked process finds its parent's objects in its memory: it shares their sockets, memory and epoll descriptors
// with the parent, their threads are missing, and locks may stay locked for ever. The library leaves such objects alone.
#pragma once

#include <tutti/error.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tutti {

/// Forks between this process and the first one: a number that a process and those it has forked do not share.
extern std::atomic<std::uint32_t> forks_before_this_process;
inline std::uint32_t this_process() noexcept { return forks_before_this_process.load(std::memory_order_relaxed); }

/// Where an object was made.
class birthplace {
public:
    birthplace() noexcept;

    /// Returns whether that is this process, not one that forked it. Costs one read.
    bool here() const noexcept { return process_ == this_process(); }
    /// For a call that is made in a forked process: error::closed, saying to which process `what` belongs.
    failure foreign(std::string_view what) const;

private:
    const std::uint32_t process_;
    const int number_;  // by which the system knows it
};

namespace detail {

struct kept_object {
    kept_object* next = nullptr;
};
void keep(kept_object& one) noexcept;

}  // namespace detail

/// Leaks an object that the parent process has made. Its destructor would join threads that do not exist here, take locks that no thread
/// gives back, and end connections that the parent still uses. It costs the forked process some memory.
template <class T>
void leave_alone(T&& owned) noexcept {
    struct kept final : detail::kept_object {
        explicit kept(T&& from) noexcept : what(std::move(from)) {}
        std::remove_cvref_t<T> what;
    };
    detail::keep(*new kept(std::forward<T>(owned)));
}

}  // namespace tutti
