// Which part of an operation goes through the host as one piece, where its bytes lie there, and the host's collective for it. Pure
// arithmetic, the same cuts on all ranks.
#pragma once

#include "gpu/device_request.hpp"

#include <tutti/communicator.hpp>

#include <cstddef>
#include <vector>

namespace tutti::gpu {

/// Bytes of the caller's memory, and where in the slot they are while they are on the host.
struct staged_piece {
    std::byte* where = nullptr;
    std::byte* slot = nullptr;
    std::size_t bytes = 0;
};

/// Kept and filled again, so that it allocates at first only.
struct staged_chunk {
    std::vector<staged_piece> out, in;  // copied to the slot before, and from it afterwards
    const_buffer from;                  // of the collective
    buffer to;
    std::vector<buffer> list;  // instead
};

/// An operation's elements as they are cut. What has no type of the host's is cut between bytes.
struct staged_shape {
    data_type type = data_type::u8;
    std::size_t opaque_bytes = 0;
    std::size_t element_bytes = 1;
    std::size_t count = 0;  // of one rank's part
    std::size_t chunk = 1;  // elements of one rank's part that go together
};
staged_shape shape_of(const device_request& what, int size, std::size_t chunk_bytes) noexcept;
/// How many parts of ranks lie in a slot beside each other.
std::size_t blocks_of(device_collective kind, int size) noexcept;

/// Whose memory it is about.
struct staged_place {
    rank me = 0;
    int size = 1;
    bool on_host = false;  // the caller's memory is the host's: it is used where it is, where that is one piece
    std::byte* slot = nullptr;
};
/// `count` elements of the rank's part, from the `first` on.
void lay_out(const device_request& what, const staged_shape& shape, const staged_place& at, std::size_t first, std::size_t count,
             staged_chunk& into);

/// Starts the host's collective.
future<> start(tutti::communicator& ranks, const device_request& what, const staged_chunk& chunk, tutti::call_options options);

/// Whether one must not begin before the other is done: one writes what the other uses.
bool in_each_others_way(const device_request& one, const device_request& other, rank me, int size) noexcept;

}  // namespace tutti::gpu
