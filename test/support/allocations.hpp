// How often operator new has been called, but for memory whose alignment is asked for, and what happens when it fails: a program that lists allocations.cpp replaces it.
// ThreadSanitizer does not allow that; tests of it are skipped there.
#pragma once

#include <cstddef>

namespace tutti::test {

/// False where nothing is counted and nothing fails; known before tests register.
extern const bool counts_allocations;

/// By all threads of this program.
std::size_t allocations() noexcept;
/// Of at least 1 MiB each.
std::size_t long_allocations() noexcept;
/// By the calling thread.
std::size_t own_allocations() noexcept;

/// While it lives the calling thread gets memory so many times, and then none.
class scarce_memory {
public:
    explicit scarce_memory(std::size_t times) noexcept;
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;
    ~scarce_memory();
};

/// While it lives, no allocation with an alignment gets that much memory at once.
class scarce_pages {
public:
    explicit scarce_pages(std::size_t bytes) noexcept;
    scarce_pages(const scarce_pages&) = delete;
    scarce_pages& operator=(const scarce_pages&) = delete;
    ~scarce_pages();
};

}  // namespace tutti::test
