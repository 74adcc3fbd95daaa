// The header before every payload on a link: 64 bytes, little-endian. It says which operation, which part of it, and what the sender
// believes the operation to be. The receiver compares before it writes a byte.
#pragma once

#include <tutti/types.hpp>

#include "base/call_signature.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti {

/// The version of everything that ranks send each other over links. It travels in hellos, so that another build is refused in words, and in
/// frames, which are no frames if it differs.
inline constexpr std::uint8_t wire_version = 8;

enum class frame_kind : std::uint8_t {
    data = 1,
    abort,    // payload: the cause, and the rank that failed first
    goodbye,  // the sender, or on control lanes the rank in `index`, will send nothing more
    hang_up,  // the same, and it does not wait for the goodbyes of other ranks
    message,  // on point lanes: a whole message
    offer,    // announces a message; its bytes follow as data when the receiver says go
    go,
    credit,   // the receiver has taken so many messages and bytes
    entered,  // towards rank 0: a rank has come to a barrier, the first of which is that of forming; payload: how long it waits
    release,  // from rank 0: all ranks have come to it
    waiting,  // the sender waits in a collective: what it believes that to be
    here,     // the first frame of a control lane: from now on its end without a goodbye is a death; and the answer to roll, to rank 0
    roll,     // from rank 0: every rank that hears this answers here
};

struct frame {
    frame_kind kind = frame_kind::data;
    std::uint32_t epoch = 0;
    std::uint64_t sequence = 0;
    std::uint32_t index = 0;  // of data: its number among the frames of its operation to this rank; on control lanes the rank it is about
    std::uint32_t slice = 0;
    std::uint64_t payload_bytes = 0;
    // In shared memory only:
    std::uint8_t references = 0;  // if not 0, the payload is lent: so many references travel in its place
    bool answered = false;        // one more reference says which frame brings the answer, and how far beyond the payload it belongs
    bool in_place = false;        // the payload has been written into memory that the receiver lent before; nothing follows
    call_signature what;

    friend bool operator==(const frame&, const frame&) = default;
};

inline constexpr std::size_t most_references = 4;  // of one frame: a payload in more runs is copied
inline constexpr std::size_t frame_bytes = 64;     // a cache line
using frame_header = std::array<std::byte, frame_bytes>;

/// Returns the header without what is in shared memory only.
frame_header encode(const frame& what) noexcept;
/// Returns whether the kind is known, and references, answered and in_place go together. A header may come from another program.
bool is_possible(const frame& what) noexcept;
/// Returns false when these are not the bytes of a possible frame; `what` is unchanged then.
bool decode(std::span<const std::byte, frame_bytes> bytes, frame& what) noexcept;

}  // namespace tutti
