// A group of ranks with devices, and what they can do together with memory there; some may have none, and take part with memory of the host.
#pragma once

#include <tutti/gpu/device_span.hpp>
#include <tutti/gpu/operation.hpp>
#include <tutti/gpu/stream.hpp>
#include <tutti/reduction.hpp>
#include <tutti/task.hpp>
#include <tutti/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

struct ncclComm;  // nccl.h: ncclComm_t points to it

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class device_group;

/// How one call differs from the others of its communicator. What is pointed to is read during the call only.
struct call_options {
    const stream* after = nullptr;     // what has been enqueued there comes before; null: nothing does
    const keep_alive* keep = nullptr;  // held until the operation is completed, with what the buffers bring themselves
    duration deadline{};               // until it is completed, from the call; 0: the communicator's default
    const char* label = nullptr;       // told in messages; outlives the operation
};

/// Who carries operations out, for all ranks of a communicator.
enum class engine_kind : std::uint8_t {
    automatic,  // NCCL; or staged where a rank has no device or no NCCL, and context_options::notice on rank 0 hears which
    nccl,       // or nobody: error::unsupported where a rank cannot
    staged,     // chunks go through memory of the hosts and over their links; several ranks may share a device
};

/// Of a communicator.
struct group_options {
    const stream* over = nullptr;  // the caller's, of the same device, as the communication stream; null: the library's, of high priority
    engine_kind engine = engine_kind::automatic;  // who says automatic goes along with the others
    // Used when staged.
    std::size_t chunk_bytes = 2 * MiB;  // from 4 KiB to 1 GiB; the smallest of all ranks counts
    int window = 4;  // chunks under way at once, so many times chunk_bytes are pinned on this rank; other than 2 to 64 is refused always
};

static_assert(std::is_trivially_destructible_v<call_options> && std::is_trivially_destructible_v<group_options>,
              "g++ 12 destroys other aggregates twice in a co_await");

/// One message of an exchange.
class transfer {
public:
    rank peer() const noexcept { return peer_; }
    bool sends() const noexcept { return sends_; }
    const const_device_span& data() const noexcept { return data_; }

private:
    transfer(const_device_span data, rank peer, bool sends) noexcept : data_(std::move(data)), peer_(peer), sends_(sends) {}
    friend transfer send_to(const const_device_span& from, rank peer) noexcept;
    friend transfer recv_from(const device_span& to, rank peer) noexcept;

    const_device_span data_;
    rank peer_;
    bool sends_;
};
inline transfer send_to(const const_device_span& from, rank peer) noexcept { return {from, peer, true}; }
inline transfer recv_from(const device_span& to, rank peer) noexcept { return {to, peer, false}; }

/// Made by tutti::communicator::device, on all its ranks; closed with `close`. Works beside the one it was made from.
///
/// Without a device. A rank that gave the failure of device::open takes part all the same: its buffers are memory of the host, and `after`
/// and wait_on have no meaning there. Enqueued is completed then.
///
/// Order. All ranks call in the same order, and a call takes its place when it returns. Operations are done in that order on one stream, the
/// communication stream. Several communicators on one device do theirs in the order in which this process calls them, so that order must be
/// the same on all ranks, too; they are made with handles of one device::open.
///
/// Memory. Buffers are of this communicator's device, or of the host on a rank without one. They are used until the operation is completed,
/// whoever waits or does not: its keep-alives are held until then. So is an operator of the user's, even when the futures were dropped; `keep`
/// may hold it. Counts are elements. An output may be the very memory of the input where tutti::communicator allows it.
///
/// Failure. The first failure on any rank ends everything pending, and everything called later, on all of them with that cause, when this
/// rank's device has let go of the buffers. A wrong argument is such a failure, since the others wait.
///
/// Threads. Every function may be called from any thread; none blocks for the device or for other ranks.
class communicator {
public:
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Does not block. Without a close() before, what is pending here is aborted.
    ~communicator();

    int rank() const noexcept;
    int size() const noexcept;
    const std::string& name() const noexcept;
    /// None on a rank that has none, whose buffers are memory of the host.
    const std::optional<device>& on() const noexcept;
    /// The communication stream; none on a rank without a device. What one puts there oneself is in order with operations that are enqueued,
    /// and may hold up others.
    const std::optional<stream>& over() const noexcept;
    /// What carries operations out, and why: "NCCL 2.28.9", "staged through memory of the hosts: rank 1 has no device: ...".
    std::string engine() const;
    /// NCCL's own communicator, to ask it things. Nothing may be called on it while an operation is not yet enqueued, nor from other threads
    /// than that which NCCL is called from, unless nothing is pending; null once it has failed or was closed, and where NCCL is not used.
    ncclComm* native() const noexcept;

    /// Combines `data` over all ranks, in place: `sum`, `prod`, `min`, `max`, `avg` of numbers that NCCL has, premul_sum of floating ones. A
    /// staged engine has all operators and types of tutti::communicator::all_reduce, but none of the small floats.
    operation all_reduce(const device_span& data, reduction op, call_options options = {});
    operation all_reduce(const const_device_span& from, const device_span& to, reduction op, call_options options = {});
    /// Each buffer in place, all of one type, as one operation; their number and sizes are the same on all ranks.
    operation all_reduce(std::span<const device_span> list, reduction op, call_options options = {});
    /// As tutti::communicator says of lists in braces: to be awaited in a statement of its own.
    operation all_reduce(std::initializer_list<device_span> list, reduction op, call_options options = {}) {
        return all_reduce(std::span<const device_span>(list.begin(), list.size()), op, options);
    }
    operation broadcast(const device_span& data, tutti::rank root, call_options options = {});
    /// In place on the root; on the other ranks `data` is only read.
    operation reduce(const device_span& data, reduction op, tutti::rank root, call_options options = {});
    operation reduce(const const_device_span& from, const device_span& to, reduction op, tutti::rank root, call_options options = {});
    operation all_gather(const const_device_span& from, const device_span& to, call_options options = {});
    operation reduce_scatter(const const_device_span& from, const device_span& to, reduction op, call_options options = {});
    operation all_to_all(const const_device_span& from, const device_span& to, call_options options = {});
    operation gather(const const_device_span& from, const device_span& to, tutti::rank root, call_options options = {});
    operation scatter(const const_device_span& from, const device_span& to, tutti::rank root, call_options options = {});
    /// Completed when the streams of all ranks have come to it: behind what was called before, and behind `after`.
    operation barrier(call_options options = {});

    /// A message and its receive have the same count. They have places in the order like everything else: of two ranks that send to each
    /// other, both use exchange, which does all its parts at once.
    operation send(const const_device_span& data, tutti::rank to, call_options options = {});
    operation recv(const device_span& data, tutti::rank from, call_options options = {});
    operation exchange(std::span<const transfer> parts, call_options options = {});
    /// The same of this one.
    operation exchange(std::initializer_list<transfer> parts, call_options options = {}) {
        return exchange(std::span<const transfer>(parts.begin(), parts.size()), options);
    }

    /// A communicator of the ranks that give the same color, on the same devices, ordered by key and then by rank here. All ranks call it.
    task<std::unique_ptr<communicator>> split(int color, int key);
    /// A communicator of all ranks but these, in their order here, on the same devices. Those who stay call it with the same ranks, the others
    /// do not. Also when this one has failed: it is how the ranks that are left go on. Here nothing is pending then, nor called until it has
    /// ended. error::invalid_argument, on this rank, when it is among them or they are no ranks.
    task<std::unique_ptr<communicator>> shrink(std::vector<tutti::rank> without);

    /// Ends when it has failed, with that failure, or with error::closed when it is closed. May be dropped.
    future<> watch();
    /// Ends every operation on every rank with error::aborted and `reason`.
    void abort(std::string reason);
    /// Waits for what is pending, gives everything back, and waits for the other ranks. What is pending here for longer than `within` fails
    /// with it on all ranks, and who has not closed it by then is named; what is given back may take device_options::stuck besides. Throws the
    /// failure of one that has failed; it is closed then too.
    task<> close(duration within = std::chrono::seconds(30));

    /// For the library.
    explicit communicator(std::unique_ptr<device_group> made);
    device_group& inner() const noexcept { return *group_; }

private:
    std::unique_ptr<device_group> group_;
};

}  // namespace gpu
}  // namespace tutti
