// The interface between a guest loop and its host. It does not use Asio: the program's Asio may differ from the library's.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <memory>

namespace [[gnu::visibility("default")]] tutti {

class event_loop;

namespace detail {

/// A guest loop, as its host sees it. All calls are on the host's executor.
class guest_side {
public:
    /// Runs the work that is ready.
    virtual void turn() = 0;
    /// Runs the work that is ready, after the descriptor has become readable.
    virtual void readable() = 0;
    /// Is called while the host's execution context is destroyed. After it returns the guest does not use its host any more.
    virtual void host_goes() noexcept = 0;

protected:
    ~guest_side() = default;
};

/// A host, as its guest sees it. Its code is compiled with the host program.
class host_side {
public:
    virtual ~host_side() = default;
    /// Calls `guest->turn()` soon, once. Any thread.
    virtual void call(std::shared_ptr<guest_side> guest) = 0;
    /// Calls `guest->readable()` once, when the descriptor is readable. On the executor; not again before that call, or `stop_watching`.
    virtual void watch(std::shared_ptr<guest_side> guest) = 0;
    virtual void stop_watching() noexcept = 0;
    /// Returns whether this thread runs the executor, as far as the executor can tell.
    virtual bool here() const noexcept = 0;
    /// Returns the version of its Asio.
    virtual long version() const noexcept = 0;
};

/// A place for a guest: tutti::host of tutti/asio.hpp.
class any_host {
public:
    /// `descriptor` is readable when the guest has work. Guest and descriptor outlive the returned object.
    virtual std::unique_ptr<host_side> receive(guest_side& guest, int descriptor) const = 0;

protected:
    ~any_host() = default;
};

/// A call that waits for its turn on a loop.
class queued_call {
public:
    virtual ~queued_call() = default;
    virtual void run() = 0;
};

/// Returns null if `loop` is no guest, or its host is destroyed.
TUTTI_API host_side* host_of(event_loop& loop) noexcept;
/// Runs `what` once, in a turn of `loop`, which is no guest. Its exceptions leave the loop's `run`. On the loop, or while no thread runs
/// it.
TUTTI_API void queue_call(event_loop& loop, std::unique_ptr<queued_call> what);

}  // namespace detail
}  // namespace tutti
