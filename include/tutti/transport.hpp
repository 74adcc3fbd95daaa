// How bytes move between two ranks: links, and the transports that make them. Implement both to bring your own network.
#pragma once

#include <tutti/detail/runnable.hpp>
#include <tutti/result.hpp>
#include <tutti/task.hpp>

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace [[gnu::visibility("default")]] tutti {

class event_loop;
class near_link;

/// The result of an attempt to send or receive. No bytes and no code: the link would have to wait.
struct moved {
    std::size_t bytes = 0;
    std::error_code code;  // error::peer_died at the end of the stream, a system error otherwise; sticky. No verdict: the group judges
};

/// One FIFO duplex byte stream between two ranks. It never blocks. It has one owner and is used on its loop only. Each direction fails on
/// its own: after a failed send, bytes that have arrived can still be received.
class link {
public:
    virtual ~link() = default;

    /// Sends, or receives, as much as is possible at once.
    virtual moved try_send(std::span<const std::span<const std::byte>> parts) noexcept = 0;
    virtual moved try_recv(std::span<const std::span<std::byte>> parts) noexcept = 0;
    /// Posts `work` to the loop once, when try_recv (try_send) may make progress or the stream has ended. One of each at a time.
    virtual void when_readable(detail::runnable& work) noexcept = 0;
    virtual void when_writable(detail::runnable& work) noexcept = 0;
    /// Hints whether bytes are expected soon, so that an idle loop may busy-wait before it sleeps.
    virtual void expect(bool soon) noexcept { static_cast<void>(soon); }
    /// Returns how many bytes are worth having under way. Between processes of one host, sending further ahead only evicts data from the
    /// caches. Over a network it hides latency, and only the kernel sets a limit.
    virtual std::size_t window() const noexcept { return std::numeric_limits<std::size_t>::max(); }
    /// Tells the link that parallel links share its load: bytes that it cannot carry at once are better left to them.
    virtual void share() noexcept {}
    /// Returns whether the system, or the other side, has all bytes that try_send took. If this process keeps some, they are lost with it.
    virtual bool handed_over() const noexcept { return true; }
    /// Returns the sent bytes that have not reached the other side yet, as far as is known.
    virtual std::size_t under_way() const noexcept { return 0; }
    /// Ends the stream and forgets both watchers, even if they are posted; bytes already sent still arrive. The destructor closes too.
    virtual void close() noexcept = 0;
    /// Moves the stream to another loop; null if this link cannot leave its own. Called on `other`, while nothing happens on the link's own
    /// loop and nothing waits for the link. Afterwards this object can only be destroyed.
    virtual std::unique_ptr<link> move_to(event_loop& other) noexcept {
        static_cast<void>(other);
        return nullptr;
    }
    /// For the library: returns what links within one host can do beyond this.
    virtual near_link* near() noexcept { return nullptr; }
    /// Returns a name of the other side, for messages.
    virtual std::string peer() const = 0;
};

/// Makes links. One per process, or per rank in tests. Used on its loop only; outlives the tasks it returned, but not always its links. The
/// tasks report everything, including their cancellation, in their result.
class transport {
public:
    virtual ~transport() = default;

    /// Returns the address that peers pass to `connect`.
    virtual std::string address() const = 0;
    /// Connects, and retries with back-off until the deadline, since the peer may not listen yet. Then error::refused if the last try found
    /// no listener, else error::timed_out; error::closed after close(). std::errc::too_many_files_open ends it at once.
    virtual task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) = 0;
    /// Returns the next link that a peer opened to this process. One caller at a time. Ends with error::closed after close(), and with
    /// std::errc::too_many_files_open if a peer waits and no descriptor is left for it.
    virtual task<result<std::unique_ptr<link>>> accept() = 0;
    virtual void close() noexcept = 0;
};

}  // namespace tutti
