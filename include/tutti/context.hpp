// The home of communicators in a process: the loop on which their bytes move, the transport, and who may join.
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

    detail::context_state& inner() noexcept { return *state_; }

private:
    std::shared_ptr<detail::context_state> state_;
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
