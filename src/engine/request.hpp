// A call of a collective, whose arguments have been checked.
#pragma once

#include <tutti/reduction.hpp>

#include "algorithm/catalogue.hpp"
#include "engine/label.hpp"
#include "transport/frame.hpp"

#include <span>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
class persistent;
class places;
}  // namespace tutti

namespace tutti {

/// Made and checked by the communicator, on the caller's thread; a wrong argument fails the communicator. The engine copies it into
/// operation::asked.
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
    std::span<const buffer> list;        // instead of output: a block each; in all_reduce `count` elements in all, in place. Borrowed
    std::span<const buffer> input_list;  // instead of input: a block each, only read. Borrowed for the call
    std::uint64_t digest = 0;            // of further arguments that the ranks must have alike; 0 where there are none
    bool allocated = false;          // every rank's memory comes from communicator::allocate, as the caller believes
    persistent* keep = nullptr;      // takes the call, instead of its being issued
    places* reserved = nullptr;      // gives the call its next place in the order; null: the place behind all calls
    duration deadline{};             // 0: the communicator's default
    const char* label = nullptr;     // outlives the operation

    std::size_t element_bytes() const noexcept { return type == data_type::opaque ? opaque_bytes : size_of(type); }
    /// Returns whether no rank knows the counts of all. If two ranks disagree, the frames between them show it.
    bool own_counts() const noexcept { return kind == collective::all_to_all_v || root_counts; }
};

/// Returns whether both are the same call on the same memory. Never with lists or counts, which are borrowed for the call only.
bool repeats(const request& before, const request& now) noexcept;

/// Returns the bytes of the whole vector that a plan works on, the same on all `size` ranks; 0 where ranks know their own counts only.
std::size_t vector_bytes(const request& what, int size) noexcept;

/// Returns the signature of a call, without the algorithm, which is chosen later.
call_signature describe(const request& what) noexcept;

/// "all_reduce f32 sum count 1024", "broadcast f64 count 7 root 2".
std::string to_string(const call_signature& what);

/// Returns "rank 3", or "ranks 3, 5".
std::string name_ranks(const std::vector<rank>& some);

/// Returns a digest of a list's number of buffers and their sizes; never 0.
std::uint64_t digest_of_list(std::span<const buffer> list) noexcept;

/// Two calls that should be alike, each in words that show the difference.
struct call_names {
    std::string mine;
    std::string theirs;
};
call_names tell_apart(const call_signature& mine, const call_signature& theirs);

/// Returns whether both are the same call under different labels.
bool differ_in_label(const call_signature& mine, const call_signature& theirs) noexcept;
/// Returns `all_reduce f32 sum count 1 labelled "loss"`; with the digest where the label is not known.
std::string with_label(const call_signature& what, std::string_view label);

}  // namespace tutti
