// Options of a context and of a join.
#pragma once

#include <tutti/cost_model.hpp>
#include <tutti/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

/// How ranks reach each other.
enum class transport_kind : std::uint8_t {
    automatic,  // shared memory on one host, TCP between hosts
    tcp,
    shm,  // shared memory only; ranks of other hosts are out of reach
};

/// Users set operation, rendezvous, stall_warning, check, deterministic, threads, transport, host and notice. All other fields are for
/// expert tuning. Every wait has a limit. Sensible limits have connect <= rendezvous and lost_link <= operation; this is not checked.
struct context_options {
    duration operation = std::chrono::minutes(5);         // a collective, from its call, unless the call has a deadline
    duration rendezvous = std::chrono::minutes(2);        // until a group has formed, unless its join has a limit
    duration connect = std::chrono::seconds(30);          // expert: one link
    duration handshake = std::chrono::seconds(5);         // expert: of one link that a peer opened to us
    duration lost_link = std::chrono::milliseconds(250);  // expert: between the loss of a link and the verdict that its peer is dead

    /// For users, of this rank alone. After waiting this long in a join, a collective or a close, the rank tells `notice` what it waits for.
    /// It does so again after twice as long, and so on. 0: never. tutti::run takes it from TUTTI_STALL_WARNING, in seconds, if set.
    duration stall_warning = std::chrono::seconds(10);

    /// For users, of this rank alone. Finds mistakes in the use of memory, threads and futures that are otherwise too costly to find
    /// (docs/failures.md). Calls then work on copies of their memory. tutti::run takes it from TUTTI_CHECK, 0 or 1, if set.
    bool check = false;

    /// For experts, as the next two: the wire. All ranks use rank 0's values.
    std::size_t slice_bytes = 0;         // bytes sent at once, roughly; 0: 512 KiB, and half of it for sums in shared memory
    std::size_t small_bytes = 64 * KiB;  // collectives of at most this size use the lane for small ones, not the bulk lanes
    int lanes = 1;  // links for bulk data between two ranks, 1 to 8; several if one stream, or one thread, is slower than the network

    /// For experts: the choice of algorithms. Rank 0's values hold for all ranks, and for communicators split from theirs. Without costs:
    /// the defaults for shared memory if all ranks of a host share it, else for TCP. Unless a transport was given, they have as many cores as
    /// the ranks of rank 0's host may use.
    std::optional<cost_model> costs = std::nullopt;
    bool calibrate = false;  // measures the costs after the job has joined, in about 30 ms; `costs` gives those that cannot be measured
    /// Algorithms that groups on one host use regardless of cost: a line for each collective and number of ranks, written by
    /// `tools/fit-costs --write-tuning`. "shm all_reduce 4: 4096 star, 65536 auto" has bytes of the whole vector; auto chooses by cost.
    std::string tuning = {};
    /// For users: combines every element in one order and grouping of ranks, whatever the vector's length and the element's position or
    /// bucket (docs/numerics.md). Rank 0 decides, also for communicators split from its own.
    bool deterministic = false;

    /// For users, of this rank alone. Threads that make progress, 1 to 8; 1 for a context on its user's loop. Of several bulk lanes, lane i
    /// runs on thread i modulo threads; thread 0 does everything else. More threads help only ranks with spare cores and several lanes.
    int threads = 1;
    transport_kind transport = transport_kind::automatic;  // tutti::run takes it from TUTTI_TRANSPORT, if set
    /// For experts, of this rank alone. Bytes of the last cache that the ranks of this host share. Results too long to stay there until they
    /// are read are written past it. 0: as the system says, which may be unknown in a virtual machine. tutti::run takes it from TUTTI_CACHE,
    /// if set.
    std::size_t cache_bytes = 0;
    int host = 0;  // for users: other numbers play other hosts on this one, over TCP; tutti::run takes it from TUTTI_HOST
    /// For users, of this rank alone. Gets a sentence about a fallback, a long wait, or a future that `check` finds dropped. Null: standard
    /// error. It must be thread-safe, because several threads may call it at the same time: the thread that makes progress, which may be one
    /// that waits for an operation, and threads that call `with_environment` or `allocate` or drop a future. It must not throw, or call the
    /// library, and returns soon, because no operation makes progress meanwhile.
    void (*notice)(const std::string& sentence) = nullptr;
};

/// Options of one join.
struct join_options {
    duration within{};  // until the group has formed; 0: context_options::rendezvous
};

}  // namespace tutti
