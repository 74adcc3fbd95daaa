// What a caller asks of the engine, checked already.
#pragma once

#include <tutti/reduction.hpp>

#include "algorithm/catalogue.hpp"
#include "engine/label.hpp"
#include "transport/frame.hpp"

#include <span>
#include <string>

namespace tutti {

class [[gnu::visibility("default")]] persistent;
class [[gnu::visibility("default")]] places;

struct request {
    collective kind = collective::barrier;
    data_type type = data_type::f32;
    std::size_t opaque_bytes = 0;    // of one element, where the type is opaque
    reduction op = reduce_op::sum;
    rank root = 0;
    std::size_t count = 0;           // elements, as the caller counts them: per rank where ranks contribute blocks, with `counts` their sum
    std::span<const std::size_t> counts;       // of every rank's block; in all_to_all_v of those this rank sends. Borrowed for the call
    std::span<const std::size_t> recv_counts;  // all_to_all_v: of the blocks this rank receives. Borrowed for the call
    bool root_counts = false;        // of gather_v and scatter_v: other ranks know their own block only, of `count` elements
    const void* input = nullptr;     // null where the collective has none, or works in place
    void* output = nullptr;
    std::span<const buffer> list;    // instead of output: a block each; of all_reduce `count` elements in all, in place. Borrowed for the call
    std::span<const buffer> input_list;  // instead of input: a block each, only read. Borrowed for the call
    std::uint64_t digest = 0;        // of what the ranks must have alike beside the rest; 0 where there is nothing
    bool allocated = false;          // every rank's memory comes from communicator::allocate, as the caller believes
    persistent* keep = nullptr;      // where the call is kept, instead of being issued
    places* reserved = nullptr;      // whose next place in the order it takes; null: the one behind all calls
    duration deadline{};             // 0: the communicator's default
    const char* label = nullptr;     // outlives the operation

    std::size_t element_bytes() const noexcept { return type == data_type::opaque ? opaque_bytes : size_of(type); }
    /// Whether no rank knows the counts of all. What two of them disagree about shows in the frames between them.
    bool own_counts() const noexcept { return kind == collective::all_to_all_v || root_counts; }
};

/// Whether they are the same call on the same memory. Never so where there are lists or counts, which are borrowed.
bool repeats(const request& before, const request& now) noexcept;

/// Of the whole vector that a plan works on, the same on all `size` ranks: 0 where ranks know their own counts only.
std::size_t vector_bytes(const request& what, int size) noexcept;

/// What the ranks must agree about, without the algorithm.
descriptor describe(const request& what) noexcept;

/// "all_reduce f32 sum count 1024", "broadcast f64 count 7 root 2".
std::string to_string(const descriptor& what);

/// Tells one list's number of buffers and their sizes from another's; never 0.
std::uint64_t digest_of_list(std::span<const buffer> list) noexcept;

/// Two calls that should be alike, each in words that show the difference.
struct call_names {
    std::string mine;
    std::string theirs;
};
call_names tell_apart(const descriptor& mine, const descriptor& theirs);

/// Whether they are the same call, for which the callers have different names.
bool differ_in_label(const descriptor& mine, const descriptor& theirs) noexcept;
/// `all_reduce f32 sum count 1 labelled "loss"`; by its digest where the name is not known.
std::string with_label(const descriptor& what, std::string_view label);

}  // namespace tutti
