// A process's context: the event loop that moves the bytes of its communicators, the transport, and the way to join.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/communicator.hpp>
#include <tutti/context_options.hpp>
#include <tutti/event_loop.hpp>
#include <tutti/store.hpp>
#include <tutti/transport.hpp>
#include <tutti/world.hpp>

#include <functional>
#include <memory>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

namespace detail {
class context_state;
}

/// Returns `options` with the values that the environment sets. TUTTI_TRANSPORT is auto, tcp or shm; TUTTI_HOST a number;
/// TUTTI_STALL_WARNING a number of seconds; TUTTI_CHECK 0 or 1; TUTTI_CACHE a number of bytes. Three count on rank 0
/// only: TUTTI_DETERMINISTIC, 0 or 1; TUTTI_TUNING, the file with `tuning`; and TUTTI_COSTS. That is "measure", or costs as in
/// "tcp,round=8e-6,cores=2". These start from the defaults of tcp or shm if that is named, else from `costs`, or tcp's. Without `cores`
/// each rank has its own. Any other value is error::invalid_argument.
TUTTI_API result<context_options> with_environment(context_options options);

/// Makes progress on a thread of its own (or several, see `threads`); given a loop, it uses that loop and no thread. The constructor does
/// not wait for peers. Destroying the context or its loop ends the pending operations of its communicators. In a process forked later, its
/// calls and those of its communicators end with error::closed, and the destructors leave everything to the process that made it.
class context {
public:
    explicit context(context_options options = {});
    /// Makes progress on `progress`, over `network`, or over a transport of its own if that is null. The thread that runs the loop must not
    /// block it.
    context(event_loop& progress, std::unique_ptr<transport> network, context_options options = {});
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context();

    /// Joins the communicator of a whole job. Every rank of `who` calls it with the same store and `job`. All may join again in the same
    /// contexts. In new contexts, or in another run over a store that persists, they need another `job`. The store is used on the loop that
    /// makes the progress, on whatever loop the caller awaits: open it there, or use one that allows this (memory_store, file_store). Over
    /// TCP a rank listens at one address from its first join on: the one that connects it with the store, else the one towards
    /// `who.master_address`. If a rank has not come in time, error::rendezvous_timeout names it. Rank 0 throws that first, the other ranks
    /// up to a second later.
    task<std::unique_ptr<communicator>> join(world who, std::shared_ptr<store> meeting, std::string job = "tutti",
                                             join_options options = {});
    /// Joins over the store that the launcher of `who` arranged. If rank 0 keeps that store and a rank dies or fails meanwhile, the join
    /// ends on all ranks at once, with an error that names that rank.
    task<std::unique_ptr<communicator>> join(world who, join_options options = {});

    /// Returns the loop that makes the progress.
    event_loop& progress() noexcept;

    /// For the library.
    detail::context_state& inner() noexcept { return *state_; }

private:
    std::shared_ptr<detail::context_state> state_;
};

/// Runs a whole program: finds this process's rank, joins the job's communicator, runs `main` on a loop of this thread, and closes. It
/// applies `with_environment` to `options`. An error that leaves `main` is printed in one line. Return the result from the process's own
/// main: it is `main`'s value, or 0 for void; 1 after an error; 2 if that is error::invalid_argument or the environment is wrong.
///
/// A failed communicator is an error of the program even if `main` catches it, unless `main` has closed the communicator or returns another
/// code than 0. If `main` has seen the failure, from a future that ended with it, it may go on as long as it likes, to save its data. If it
/// waits for something else, it is ended 200 ms later.
TUTTI_API int run(std::function<task<int>(communicator&)> main, context_options options = {});
TUTTI_API int run(std::function<task<>(communicator&)> main, context_options options = {});

}  // namespace tutti
