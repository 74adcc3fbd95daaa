// Single copies: the system copies a payload out of another process of this host, where a ring takes two copies.
#pragma once

#include "transport/near_link.hpp"
#include "transport/shm_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

namespace tutti {

/// Fills runs, one after the other, from another process. This process needs the right to trace it, see process_vm_readv(2).
class process_copy {
public:
    process_copy(int process, std::span<const std::span<std::byte>> into) noexcept : process_(process), into_(into) {}

    /// Copies `bytes` from that address; the runs have room for them. Errors are the system's: operation_not_permitted, no_such_process
    /// when the process has ended, bad_address when it has no memory there.
    std::error_code take(std::uint64_t address, std::size_t bytes) noexcept;

private:
    void advance(std::size_t bytes) noexcept;

    const int process_;
    const std::span<const std::span<std::byte>> into_;
    std::size_t run_ = 0;
    std::size_t done_ = 0;  // of that run
};

/// One end of a link, which owns it: finds out whether each side may copy out of the other's process. A random number at an address that
/// the other side names proves that the process is the right one.
class process_memory {
public:
    /// `process`: the other one; 0 when unknown. `from`: this side's near_link::single_copy_from.
    process_memory(int process, std::size_t from);

    /// Publishes the number, before anything is sent. Only if this side wants to be read, because the system may object to the
    /// attempt.
    void offer(ring_state& out) const noexcept;
    /// Looks for the other side's number, once, when the first bytes have come: it is there by then, if ever.
    void look_for_offer(ring_state& in) noexcept;
    std::size_t single_copy_from(const ring_state& out) const noexcept {
        return out.fetches.load(std::memory_order_relaxed) != 0 ? from_ : no_single_copy;
    }
    /// Copies what references in_process lead to, to runs of as many bytes.
    std::error_code fetch(std::span<const reference> from, std::span<const std::span<std::byte>> into) const noexcept;

private:
    int process_;
    std::size_t from_;
    std::unique_ptr<const std::uint64_t> proof_;  // for the other side to find
    bool looked_ = false;
};

}  // namespace tutti
