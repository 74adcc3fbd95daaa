// What can be chosen for a context and for a join.
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
    automatic,  // through shared memory on one host, over TCP between hosts
    tcp,
    shm,  // shared memory only; a rank of another host cannot be reached
};

/// Waiting has limits, and they stand here. connect <= rendezvous and lost_link <= operation make sense; nobody checks it.
struct context_options {
    duration operation = std::chrono::minutes(5);         // a collective, from its call, when the call does not say
    duration rendezvous = std::chrono::minutes(2);        // until a group has formed, when its join does not say
    duration connect = std::chrono::seconds(30);          // one link
    duration handshake = std::chrono::seconds(5);         // of one link that somebody opened to us
    duration lost_link = std::chrono::milliseconds(250);  // between the loss of a link and the verdict that its peer is dead

    // A rank that has waited so long while it joins, in a collective or while it closes says to `notice` what it waits for, and again after
    // twice as long, and so on. 0: never. Of this rank alone; tutti::run takes it from TUTTI_STALL_WARNING, in seconds, when that is set.
    duration stall_warning = std::chrono::seconds(10);

    // Of this rank alone: looks for mistakes that cost too much to look for otherwise, in the use of memory, threads and futures
    // (docs/failures.md). Calls work on copies of their memory then. tutti::run takes it from TUTTI_CHECK, 0 or 1, when that is set.
    bool check = false;

    // What goes over the wire. Rank 0's values are used by all ranks.
    std::size_t slice_bytes = 0;  // about as much is sent at once; 0: 512 KiB, or what suits better how the ranks are connected
    std::size_t small_bytes = 64 * KiB;
    int lanes = 1;  // links for bulk data between two ranks, up to 8: several where one stream, or one thread, does not get all there is

    // By which the algorithms are chosen. Rank 0's are used by all ranks, and by what is split from their communicator. None: the defaults for
    // shared memory where all ranks of a host share it, else for TCP, with as many cores as the ranks of rank 0's
    // host may use (unless a transport was given).
    std::optional<cost_model> costs = std::nullopt;
    bool calibrate = false;  // measure them when the job has joined, in some 30 ms; `costs` gives what cannot be measured
    // Algorithms that groups on one host take whatever they cost: a line for each collective and number of ranks, as tools/fit-costs
    // --write-tuning has them, "shm all_reduce 4: 4096 star, 65536 auto" with bytes of the whole vector; auto is by cost. Rank 0's are used by
    // all ranks, and by what is split from their communicator, but in calls with call_options::allocated.
    std::string tuning = {};
    // Every element of a reduction is combined in one order and grouping of the ranks, however long the vector is and wherever in it, or in
    // which bucket, the element stands (docs/numerics.md). Rank 0 decides, for what is split from its communicator, too.
    bool deterministic = false;

    // Of this rank alone.
    // Threads that make progress, 1 to 8; 1 for a context on a loop of its user. Thread 0 does everything, but that bulk lane i of several is on
    // thread i modulo threads. For ranks with cores to spare; where all compute, or there is one lane, more threads gain nothing.
    int threads = 1;
    transport_kind transport = transport_kind::automatic;  // tutti::run takes it from TUTTI_TRANSPORT, when that is set
    // Long messages and blocks that are only moved: from so many bytes on their receivers on this host copy them out of this process
    // (process_vm_readv), instead of both sides through a ring. 0: never. Which is quicker depends on the processor (docs/findings.md); the
    // system may forbid it, and the ring serves: communicator::route tells. tutti::run takes it from TUTTI_SINGLE_COPY, when that is set.
    std::size_t single_copy_from = 0;
    // Of the last cache that the ranks of this host share. Results that are too long to stay in it until somebody reads them are written past it. 0:
    // as the system says, which may not know in a virtual machine. tutti::run takes it from TUTTI_CACHE, when that is set.
    std::size_t cache_bytes = 0;
    int host = 0;  // other numbers play other hosts on this one, reached over TCP; tutti::run takes it from TUTTI_HOST, when that is set
    void (*notice)(const std::string& sentence) = nullptr;  // hears, on the loop, what works otherwise than it might or waits for long; null: standard error
};

/// Of one join.
struct join_options {
    duration within{};  // until the group has formed; 0: context_options::rendezvous
};

}  // namespace tutti
