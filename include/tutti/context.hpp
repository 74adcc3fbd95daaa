// The home of communicators in a process: the loop on which their bytes move, the transport, and who may join.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/communicator.hpp>
#include <tutti/cost_model.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/store.hpp>
#include <tutti/transport.hpp>
#include <tutti/world.hpp>

#include <functional>
#include <memory>
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

/// `options` with what the environment says instead: TUTTI_TRANSPORT is auto, tcp or shm; TUTTI_HOST a number; TUTTI_STALL_WARNING a number of
/// seconds; TUTTI_CHECK 0 or 1; TUTTI_SINGLE_COPY and TUTTI_CACHE are numbers of bytes; TUTTI_COSTS is costs as in "tcp,round=8e-6,cores=2", from the defaults of tcp or shm on (else from `costs`, or tcp's;
/// without `cores` each rank has its own), or "measure", and counts on rank 0, as do TUTTI_DETERMINISTIC, 0 or 1, and TUTTI_TUNING, the file
/// with `tuning`. error::invalid_argument for anything else.
TUTTI_API result<context_options> with_environment(context_options options);

/// Makes progress on a thread of its own (or on several, see `threads`), or, given a loop, on that loop and without any thread. Does not wait for
/// peers. What its communicators have pending when it is destroyed, or its loop is, ends. In a process that was forked since, its calls
/// and those of its communicators end with error::closed, and destructors leave everything to the process that has made it.
class context {
public:
    explicit context(context_options options = {});
    /// Embedded: `progress` makes the progress, over `network`, or over a transport of its own when that is null. Whoever runs the loop must not block it.
    context(event_loop& progress, std::unique_ptr<transport> network, context_options options = {});
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context();

    /// The communicator of a whole job. Every rank of `who` calls it with the same store and `job`. All may join again in the same contexts;
    /// in new ones, or in another run over a store that stays, they need another `job`. The store is used on the loop that makes the
    /// progress, whoever awaits this: it was opened there, or may be used there (memory_store, file_store). Over TCP, a rank listens at one address, from its
    /// first join on: the one by which it is connected with the store, or else that towards `who.master_address`.
    /// error::rendezvous_timeout names the ranks that have not come in time: at rank 0 then, elsewhere up to a second later.
    task<std::unique_ptr<communicator>> join(world who, std::shared_ptr<store> meeting, std::string job = "tutti",
                                             join_options options = {});
    /// The same over the store that the launcher of `who` arranged for. When that is kept by rank 0, a rank that dies or fails meanwhile ends the
    /// join on all ranks at once, with an error that names it.
    task<std::unique_ptr<communicator>> join(world who, join_options options = {});

    event_loop& progress() noexcept;

    class state;
    state& inner() noexcept { return *state_; }

private:
    std::shared_ptr<state> state_;
};

/// The whole of a program: finds out who this process is, joins the job's communicator, runs `main` on a loop of this thread, closes;
/// with what `with_environment` makes of `options`. An error that `main` lets out is printed in one line. The result is for `return` from
/// the process's own main: that of `main`, 0 where it has none; 1 after an error; 2 where that is error::invalid_argument, or the environment
/// makes no sense. When the communicator fails that is an error of the program, even if `main` catches it, unless it has closed the communicator, or
/// ends with another code than 0. A main that has heard of the failure, by a future that ended with it, goes on as long as it likes, to save what it
/// has; one that waits for something else is ended 200 ms later.
TUTTI_API int run(std::function<task<int>(communicator&)> main, context_options options = {});
TUTTI_API int run(std::function<task<>(communicator&)> main, context_options options = {});

}  // namespace tutti
