// What one call on devices asks for, whoever carries it out. The arguments have been checked.
#pragma once

#include "transport/frame.hpp"

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

/// The others are called by some ranks only.
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
    bool listed = false;              // they are a list of buffers, each in place

    std::shared_ptr<nccl_birth> born;  // what a split or shrink makes

    event after;  // none: after nothing
    keep_alive from_kept, to_kept, kept;
    duration deadline{};
    const char* label = nullptr;

    std::size_t element_bytes() const noexcept { return type == device_type::opaque ? opaque_bytes : size_of(type); }
    /// Elements of all parts, or of the one vector.
    std::size_t total() const noexcept;
    /// Everything as at first, but for memory that the next call can use.
    void clear() noexcept;
};

/// "all_reduce f32 sum count 1024"
std::string to_string(const device_request& what);

/// What the ranks of a collective must agree about: kind and type are those of devices, the digest is that of a list of buffers. Not of an
/// exchange, about which ranks agree in pairs.
descriptor describe(const device_request& what) noexcept;
/// As above; a list that differs from another in sizes only shows it by their digest.
std::string words_of(const descriptor& what, bool with_sizes = false);

}  // namespace tutti::gpu
