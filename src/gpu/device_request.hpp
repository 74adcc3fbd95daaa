// One call on devices, with checked arguments, for any carrier.
#pragma once

#include "base/call_signature.hpp"

#include <tutti/gpu/device_span.hpp>
#include <tutti/gpu/event.hpp>
#include <tutti/reduction.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tutti::gpu {

struct nccl_birth;

enum class device_collective : std::uint8_t {
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    all_to_all,
    gather,
    scatter,
    barrier,
    split,
    exchange,  // sends and receives, together
    shrink,    // by all but some ranks
};
const char* name(device_collective kind) noexcept;
constexpr bool reduces(device_collective kind) noexcept {
    return kind == device_collective::all_reduce || kind == device_collective::reduce || kind == device_collective::reduce_scatter;
}
constexpr bool has_root(device_collective kind) noexcept {
    return kind == device_collective::reduce || kind == device_collective::broadcast || kind == device_collective::gather ||
           kind == device_collective::scatter;
}

/// Returns whether all ranks call it. Exchanges and shrinks are called by some ranks only.
constexpr bool of_all_ranks(device_collective kind) noexcept { return kind < device_collective::exchange; }

/// One buffer of a list, or one message.
struct request_part {
    const void* from = nullptr;  // null where this rank receives
    void* to = nullptr;
    std::size_t count = 0;
    rank peer = -1;
    device_type type = device_type::f32;
    std::size_t opaque_bytes = 0;
    keep_alive kept;
};

struct device_request {
    device_collective kind = device_collective::barrier;
    reduction op = reduce_op::sum;
    rank root = -1;
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t count = 0;  // of one rank's part, where there are parts
    device_type type = device_type::f32;
    std::size_t opaque_bytes = 0;
    std::vector<request_part> parts;  // instead of from, to and count
    bool listed = false;              // `parts` is a list of buffers, each in place

    std::shared_ptr<nccl_birth> born;  // what a split or shrink makes

    event after;  // none: after nothing
    keep_alive from_kept, to_kept, kept;
    duration deadline{};
    const char* label = nullptr;

    std::size_t element_bytes() const noexcept { return type == device_type::opaque ? opaque_bytes : size_of(type); }
    /// Returns the number of elements of all parts, or of the one vector.
    std::size_t total() const noexcept;
    /// Resets everything, but keeps allocated memory for the next call.
    void clear() noexcept;
};

/// Returns text such as "all_reduce f32 sum count 1024".
std::string to_string(const device_request& what);

/// Returns the properties that the ranks of a collective must agree about. Kind and type are numbers of devices; the digest is over a list's sizes. Not
/// for an exchange, about which ranks agree in pairs.
call_signature describe(const device_request& what) noexcept;
/// Returns the text of a signature. `with_sizes` adds the digest, by which lists differ that have equally many elements.
std::string words_of(const call_signature& what, bool with_sizes = false);

}  // namespace tutti::gpu
