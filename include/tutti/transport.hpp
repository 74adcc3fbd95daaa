// How bytes move between two ranks: links, and the transports that make them. Implement these two to bring your own network.
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

/// What a link did with the bytes it was offered. No bytes and no code: it would have to wait.
struct moved {
    std::size_t bytes = 0;
    std::error_code code;  // error::peer_died at the end of the stream, a system error otherwise; sticky
};

/// One FIFO duplex byte stream between two ranks. It never blocks. Used on its loop only, by one owner.
/// Each direction fails for itself: when a send fails, what has arrived can still be received.
class link {
public:
    virtual ~link() = default;

    virtual moved try_send(std::span<const std::span<const std::byte>> parts) noexcept = 0;
    virtual moved try_recv(std::span<const std::span<std::byte>> parts) noexcept = 0;
    /// Posts `work` to the loop once, when a try_recv (try_send) may do something, the end of the stream included. One of each at a time.
    virtual void when_readable(detail::runnable& work) noexcept = 0;
    virtual void when_writable(detail::runnable& work) noexcept = 0;
    /// Whether bytes are expected soon, so that a loop with nothing to do may try again and again before it sleeps. Only a hint.
    virtual void expect(bool soon) noexcept { static_cast<void>(soon); }
    /// Bytes that are worth having under way. Between processes of one host what is sent sooner only falls out of the caches; over a network
    /// it hides the delay, and there is no limit but the kernel's.
    virtual std::size_t window() const noexcept { return std::numeric_limits<std::size_t>::max(); }
    /// Other links go the same way: bytes that this one cannot carry now are better left to them than taken.
    virtual void share() noexcept {}
    /// Sent bytes that have not come to the other side yet, as far as is known.
    virtual std::size_t under_way() const noexcept { return 0; }
    /// Forgets both watchers (they are not called afterwards, even if already posted) and ends the stream; what was sent still arrives. The destructor closes too.
    virtual void close() noexcept = 0;
    /// The same stream on another loop; null when this link cannot leave its own. Called on `other`, while nothing happens on its own loop and
    /// nobody waits for it. Good for nothing but to be destroyed afterwards.
    virtual std::unique_ptr<link> move_to(event_loop& other) noexcept {
        static_cast<void>(other);
        return nullptr;
    }
    /// For the library: what links within one host can do beyond this.
    virtual near_link* near() noexcept { return nullptr; }
    /// The other side, for messages.
    virtual std::string peer() const = 0;
};

/// Makes links. One per process, or per rank in tests. Used on its loop only; outlives the tasks it returned, not always its links.
/// The tasks report everything, their cancellation too, in their result.
class transport {
public:
    virtual ~transport() = default;

    /// Where others reach this one; what `connect` takes.
    virtual std::string address() const = 0;
    /// Retries with back-off until the deadline: the other side may not be there yet. Then error::refused where nobody listened the last time,
    /// else error::timed_out; error::closed after close(). std::errc::too_many_files_open at once.
    virtual task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) = 0;
    /// The next link that somebody opened to us. One caller at a time; ends with error::closed after close(), and with
    /// std::errc::too_many_files_open when somebody waits for whom there is no descriptor.
    virtual task<result<std::unique_ptr<link>>> accept() = 0;
    virtual void close() noexcept = 0;
};

}  // namespace tutti
