// Names memory of another process that it has lent: an offset in its arena, or in the link's own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

struct reference {
    std::uint64_t offset = 0;  // with the bit of_link: in the link's own memory
    std::uint64_t bytes = 0;

    bool is_of_link() const noexcept { return (offset & of_link) != 0; }

    static constexpr std::uint64_t of_link = std::uint64_t{1} << 63;
};

/// Returns the memory that `what` names within `memory`; empty when it does not lie there.
inline std::span<std::byte> part_of(std::span<std::byte> memory, reference what) noexcept {
    if (what.offset > memory.size() || memory.size() - what.offset < what.bytes) return {};
    return memory.subspan(static_cast<std::size_t>(what.offset), static_cast<std::size_t>(what.bytes));
}

}  // namespace tutti
