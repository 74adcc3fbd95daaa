// What stands before every piece of data on a link: 64 bytes, little-endian, that say which operation, which part of it, and what
// the sender believes the operation to be. The receiver compares before it writes a byte.
#pragma once

#include <tutti/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti {

enum class frame_kind : std::uint8_t {
    data = 1,
    abort,    // payload: why, and who failed first
    goodbye,  // the sender, or on control lanes a rank, will send nothing more
    hang_up,  // and it does not wait for the goodbyes of others
    message,  // on point lanes: a whole message
    offer,    // word of a message, whose bytes are sent as data when the receiver says go
    go,
    credit,   // so many messages, and so many bytes, were taken
    entered,  // towards rank 0: a rank has come to a barrier, the first of which is that of forming; payload: how long it waits
    release,  // from rank 0: everybody has come to it
    waiting,  // the sender waits in a collective: what it believes it to be
    here,     // the first frame of a control lane: from now on its end without a goodbye is a death; an answer to roll, towards rank 0
    roll,     // from rank 0: who is there to hear this?
};

/// What the ranks must agree about. Small enough to travel whole in every frame, so a mismatch can be told in words.
struct descriptor {
    std::uint8_t kind = 0;       // collective
    std::uint8_t type = 0;       // data_type
    std::uint8_t op = 0;         // reduce_op
    std::uint8_t algorithm = 0;  // its number in the catalogue
    std::int32_t root = 0;       // 0 where there is none
    std::uint64_t count = 0;     // elements
    std::uint64_t digest = 0;        // of what does not fit here: a list, v-counts, an operator's name; a message's tag; credited bytes
    std::uint32_t opaque_bytes = 0;  // of one element that has no type; 0 where there is one
    bool allocated = false;          // as the caller says, call_options::allocated
    std::uint32_t label : 24 = 0;    // digest of call_options::label; 0 where there is none

    friend bool operator==(const descriptor&, const descriptor&) = default;
};

struct frame {
    frame_kind kind = frame_kind::data;
    std::uint32_t epoch = 0;
    std::uint64_t sequence = 0;
    std::uint32_t index = 0;  // of data, among the frames of its operation to this rank; on control lanes the rank it is about
    std::uint32_t slice = 0;
    std::uint8_t references = 0;  // the payload lies in the sender's memory; so many references stand in its place
    bool answered = false;        // behind them stands which frame of the operation brings back what belongs there, or how far beyond
    bool in_place = false;        // the payload has been written into memory that the receiver lent before; nothing stands in its place
    std::uint64_t payload_bytes = 0;
    descriptor what;

    friend bool operator==(const frame&, const frame&) = default;
};

inline constexpr std::size_t most_references = 4;
inline constexpr std::size_t frame_bytes = 64;
using frame_header = std::array<std::byte, frame_bytes>;

frame_header encode(const frame& what) noexcept;
/// Whether its kind is known, and what it says of where its payload is goes together. What another process has written may be anything.
bool is_possible(const frame& what) noexcept;
/// False when these are not the bytes of a possible frame.
bool decode(std::span<const std::byte, frame_bytes> bytes, frame& what) noexcept;

}  // namespace tutti
