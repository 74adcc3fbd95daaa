// A frame on its way out of a lane, and what is said of its payload to a peer that shares memory.
#pragma once

#include "transport/frame.hpp"
#include "transport/reference.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// Memory of the peer in which it wants the payload of frame number `index` of the operation.
struct remote_reference {
    std::uint32_t index = 0;
    std::size_t count = 0;
    std::array<reference, most_references> parts;
    bool answered = false;  // the payload has been written there already, in the pass that read what was lent

    std::span<const reference> where() const noexcept { return std::span(parts).first(count); }
};

/// A frame on its way out. It belongs to its sender (send_channel, parcel, message and so on), which keeps it and the payload's memory as
/// they are from `lane::send` to `sent`. The lane links it into its queues meanwhile.
class outgoing {
public:
    frame head;
    bool soon_written = false;  // the payload's memory will be written again while it is in the caches
    bool summed = false;        // the receiver adds it up with payloads of other ranks for the same blocks, as far as this rank can tell
    /// Index of the frame by which the peer brings back what belongs into the payload's memory, or `answer_beyond` bytes further on. No
    /// step writes there until then.
    std::optional<std::uint32_t> answer;
    std::ptrdiff_t answer_beyond = 0;
    remote_reference into;  // where the peer wants the payload; without parts it has not said so

    // The lane's own.
    outgoing* next_in_lane = nullptr;
    std::array<reference, most_references> lends{};  // head.references of them travel instead of the payload
    const std::byte* staged = nullptr;               // the first staging buffer, if the payload was copied to such
    std::uint64_t number = 0;                        // among the frames that lend, from 1: they are given back in that order

    /// Appends the runs of the payload, head.payload_bytes in all. After a partial send the lane calls it again and must get the same runs.
    virtual void gather(std::vector<std::span<const std::byte>>& runs) const = 0;
    /// Neither side reads the payload's memory any more: all bytes are with the kernel, or copied, or the peer has given them back. The
    /// object may be queued again at once.
    virtual void sent() noexcept = 0;

protected:
    ~outgoing() = default;
};

}  // namespace tutti
