// What a caller asks of the engine, checked already.
#pragma once

#include "algorithm/catalogue.hpp"
#include "transport/frame.hpp"

#include <span>
#include <string>

namespace tutti {

class persistent;

struct request {
    collective kind = collective::barrier;
    data_type type = data_type::f32;
    reduce_op op = reduce_op::sum;
    rank root = 0;                   // or the peer, of send and recv
    std::size_t count = 0;           // elements, as the caller counts them: per rank where ranks contribute blocks
    const void* input = nullptr;     // null where the collective has none, or works in place
    void* output = nullptr;
    std::span<const buffer> list;    // instead of input and output: `count` elements in all, worked on in place; borrowed for the call
    std::uint64_t digest = 0;        // of what the ranks must have alike beside the rest; 0 where there is nothing
    persistent* keep = nullptr;      // where the call is kept, instead of being issued
    duration deadline{};             // 0: the communicator's default
    const char* label = nullptr;     // outlives the operation
};

/// "all_reduce f32 sum count 1024", "broadcast f64 count 7 root 2".
std::string to_string(const descriptor& what);

bool point_to_point(collective kind) noexcept;

/// Without the algorithm. Both sides of a message describe it alike, as the sender's call.
descriptor describe(const request& what) noexcept;

/// Tells one list's number of buffers and their sizes from another's; never 0.
std::uint64_t digest_of_list(std::span<const buffer> list) noexcept;

/// Two calls that should be alike, each in words that show the difference.
struct call_names {
    std::string mine;
    std::string theirs;
};
call_names tell_apart(const descriptor& mine, const descriptor& theirs);

}  // namespace tutti
