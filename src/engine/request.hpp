// What a caller asks of the engine, checked already.
#pragma once

#include "algorithm/catalogue.hpp"
#include "transport/frame.hpp"

#include <span>
#include <string>

namespace tutti {

struct request {
    collective kind = collective::barrier;
    data_type type = data_type::f32;
    reduce_op op = reduce_op::sum;
    rank root = 0;                   // or the peer, of send and recv
    std::size_t count = 0;           // elements, as the caller counts them: per rank where ranks contribute blocks, with `counts` their sum
    std::span<const std::size_t> counts{};  // of every rank's block; in all_to_all_v of those this rank sends. Needed until it is issued
    std::span<const std::size_t> recv_counts{};  // all_to_all_v: of the blocks this rank receives
    const void* input = nullptr;     // null where the collective has none, or works in place
    void* output = nullptr;
    duration deadline{};             // 0: the communicator's default
    const char* label = nullptr;     // outlives the operation
};

/// What the ranks must agree about. The two sides of a message describe it alike, as the sender's call.
descriptor describe(const request& what) noexcept;

/// "all_reduce f32 sum count 1024", "broadcast f64 count 7 root 2".
std::string to_string(const descriptor& what);

/// Two calls that should be alike, each in words that show the difference.
struct call_names {
    std::string mine;
    std::string theirs;
};
call_names tell_apart(const descriptor& mine, const descriptor& theirs);

}  // namespace tutti
