// A chunk is the part of an operation that goes through the host as one piece: which bytes it has, where they lie there, and the host's collective for
// it. Pure arithmetic, so all ranks cut alike.
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

/// A chunk is kept and filled again, so it allocates only at first.
struct staged_chunk {
    std::vector<staged_piece> out, in;  // copied to the slot before, and from it afterwards
    const_buffer from;                  // of the collective
    buffer to;
    std::vector<buffer> list;  // instead
};

/// How an operation's elements are cut. Elements without a type of the host are cut between bytes.
struct staged_shape {
    data_type type = data_type::u8;
    std::size_t opaque_bytes = 0;
    std::size_t element_bytes = 1;
    std::size_t count = 0;  // of one rank's part
    std::size_t chunk = 1;  // elements of one rank's part that go together
};
staged_shape shape_of(const device_request& what, int size, std::size_t chunk_bytes) noexcept;
/// Returns how many ranks' parts lie beside each other in a slot.
std::size_t blocks_of(device_collective kind, int size) noexcept;

/// The rank whose memory is cut, and the slot for it.
struct staged_place {
    rank me = 0;
    int size = 1;
    bool on_host = false;  // the caller's memory is the host's: it is used where it is, where that is one piece
    std::byte* slot = nullptr;
};
/// Fills in the chunk of `count` elements of the rank's part, from element `first` on.
void lay_out(const device_request& what, const staged_shape& shape, const staged_place& at, std::size_t first, std::size_t count,
             staged_chunk& into);

/// Starts the host's collective.
future<> start(tutti::communicator& ranks, const device_request& what, const staged_chunk& chunk, tutti::call_options options);

/// Returns whether one writes memory that the other uses, so that the later one must wait for the earlier one.
bool in_each_others_way(const device_request& one, const device_request& other, rank me, int size) noexcept;

}  // namespace tutti::gpu
