// Frames that a test makes itself, as a rank might send them that is wrong or means harm.
#pragma once

#include "transport/frame.hpp"

#include <tutti/transport.hpp>

#include <doctest/doctest.h>

#include <span>
#include <vector>

namespace tutti::test {

/// The frame, and as many bytes behind it.
inline void put(tutti::link& over, const frame& head, std::size_t payload_bytes) {
    const auto header = encode(head);
    const std::vector<std::byte> payload(payload_bytes, std::byte{0xee});
    const std::span<const std::byte> parts[] = {header, payload};
    REQUIRE(over.try_send(parts).bytes == frame_bytes + payload_bytes);
}

}  // namespace tutti::test
