// How a guest loop and its host meet. Nothing here is of Asio: the host program may have another one than Tutti's library.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <memory>

namespace tutti {
class event_loop;
}

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// A guest loop, as its host sees it. All of it on the host's executor.
class guest_side {
public:
    /// Does what can be done now.
    virtual void turn() = 0;
    /// The same, since its descriptor is readable.
    virtual void readable() = 0;
    /// The host's execution context is being destroyed. When it returns the guest does not use its host any more.
    virtual void host_goes() noexcept = 0;

protected:
    ~guest_side() = default;
};

/// A host, as its guest sees it. Its code is compiled with the host program.
class host_side {
public:
    virtual ~host_side() = default;
    /// Has `guest->turn()` called soon, once. From any thread.
    virtual void call(std::shared_ptr<guest_side> guest) = 0;
    /// Has `guest->readable()` called when that is so, once. On the executor; not again before that, or `stop_watching`.
    virtual void watch(std::shared_ptr<guest_side> guest) = 0;
    virtual void stop_watching() noexcept = 0;
    /// Whether this thread runs the executor, as far as that tells.
    virtual bool here() const noexcept = 0;
    /// Which Asio it is made of.
    virtual long version() const noexcept = 0;
};

/// Where a guest can be: tutti::host of tutti/asio.hpp.
class any_host {
public:
    /// `descriptor` is readable when the guest has something to do. Both outlive the host's side.
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

/// Null when `loop` is no guest, or its host has gone.
TUTTI_API host_side* host_of(event_loop& loop) noexcept;
/// Runs `what` once, in a turn of `loop`, which is no guest; what it throws comes out of the loop's `run`. On the loop, or when nobody runs it.
TUTTI_API void queue_call(event_loop& loop, std::unique_ptr<queued_call> what);

}  // namespace detail
}  // namespace tutti
