// A group of ranks and their collectives on device memory. Ranks without a device take part with host memory.
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

/// Options of one call. Their pointers are read during the call only.
struct call_options {
    const stream* after = nullptr;     // the operation comes after the work already enqueued there; null: after nothing
    const keep_alive* keep = nullptr;  // held until the operation is completed, besides the buffers' own keep-alives
    duration deadline{};               // from the call to completion; 0: the communicator's default
    const char* label = nullptr;       // appears in messages; outlives the operation
};

/// Selects what carries out the operations, for all ranks of a communicator.
enum class engine_kind : std::uint8_t {
    automatic,  // NCCL; staged if a rank has no device or no NCCL, which context_options::notice on rank 0 then names
    nccl,       // NCCL only: error::unsupported if a rank cannot use it
    staged,     // chunks pass through host memory and the host's links; several ranks may share a device
};

/// Options of a communicator.
struct group_options {
    const stream* over = nullptr;  // the caller's communication stream, on this device; null: the library's, of high priority
    engine_kind engine = engine_kind::automatic;  // a rank with automatic accepts the choice of the others
    /// Used when staged, as is the window.
    std::size_t chunk_bytes = 2 * MiB;  // 4 KiB to 1 GiB; all ranks use the smallest value
    int window = 4;  // 2 to 64 chunks under way at once; pins window * chunk_bytes on this rank. Other values are refused with any engine
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
/// Makes a part of communicator::exchange that sends, or that receives.
inline transfer send_to(const const_device_span& from, rank peer) noexcept { return {from, peer, true}; }
inline transfer recv_from(const device_span& to, rank peer) noexcept { return {to, peer, false}; }

/// Collectives on device memory. tutti::communicator::device makes it, on all its ranks; `close` ends it. It is independent of the
/// communicator that it was made from.
///
/// Without a device. A rank that gave the failure of device::open takes part with host memory as its buffers. `after` and wait_on have no
/// meaning there, and enqueued means completed.
///
/// Order. All ranks call in the same order; a call takes its place before it returns. Operations run in that order on one stream, the
/// communication stream. Several communicators on one device run theirs in the order of this process's calls, which must then be the same
/// on all ranks, too. These communicators are made with handles of one device::open.
///
/// Memory. Buffers belong to this communicator's device, or to the host on a rank without one. They are used until the operation is
/// completed, even if nothing waits for it; their keep-alives are held until then. A user-defined operator must live as long, even if the
/// futures were dropped; `keep` may hold it. Counts are elements. An output may be exactly the memory of the input where
/// tutti::communicator allows it.
///
/// Failure. The first failure on any rank ends all pending and later operations on all ranks with that cause, after this rank's device has
/// released the buffers. A wrong argument is such a failure, because the other ranks wait.
///
/// Threads. Any thread may call any function; none blocks for the device or for other ranks.
class communicator {
public:
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Does not block. Without a close() before, operations pending here are aborted.
    ~communicator();

    int rank() const noexcept;
    int size() const noexcept;
    const std::string& name() const noexcept;
    /// Returns the device; nullopt on a rank without one, whose buffers are host memory.
    const std::optional<device>& on() const noexcept;
    /// Returns the communication stream; nullopt on a rank without a device. Work that the caller enqueues there is in order with enqueued
    /// operations, and may delay others.
    const std::optional<stream>& over() const noexcept;
    /// Returns what carries out the operations, and why: "NCCL 2.28.9", "staged through memory of the hosts: rank 1 has no device: ...".
    std::string engine() const;
    /// Returns NCCL's own communicator, for queries. Do not use it while an operation is not yet enqueued. Other threads than the one that
    /// calls NCCL may use it only while nothing is pending. Null after a failure or close, and where NCCL is not used.
    ncclComm* native() const noexcept;

    /// Combines `data` over all ranks, in place. Operators: `sum`, `prod`, `min`, `max`, `avg` of numbers that NCCL has, and premul_sum of
    /// floating ones. A staged engine has all operators and types of tutti::communicator::all_reduce, but not e4m3 and e5m2.
    operation all_reduce(const device_span& data, reduction op, call_options options = {});
    operation all_reduce(const const_device_span& from, const device_span& to, reduction op, call_options options = {});
    /// Combines each buffer in place, in one operation. All have one type; their number and sizes are the same on all ranks.
    operation all_reduce(std::span<const device_span> list, reduction op, call_options options = {});
    /// Takes lists in braces. Await it in a statement of its own, like tutti::communicator::all_reduce.
    operation all_reduce(std::initializer_list<device_span> list, reduction op, call_options options = {}) {
        return all_reduce(std::span<const device_span>(list.begin(), list.size()), op, options);
    }
    operation broadcast(const device_span& data, tutti::rank root, call_options options = {});
    /// Combines in place on the root; the other ranks' `data` is only read.
    operation reduce(const device_span& data, reduction op, tutti::rank root, call_options options = {});
    operation reduce(const const_device_span& from, const device_span& to, reduction op, tutti::rank root, call_options options = {});
    operation all_gather(const const_device_span& from, const device_span& to, call_options options = {});
    operation reduce_scatter(const const_device_span& from, const device_span& to, reduction op, call_options options = {});
    operation all_to_all(const const_device_span& from, const device_span& to, call_options options = {});
    operation gather(const const_device_span& from, const device_span& to, tutti::rank root, call_options options = {});
    operation scatter(const const_device_span& from, const device_span& to, tutti::rank root, call_options options = {});
    /// Is completed when the streams of all ranks have reached it, after earlier calls and after `after`.
    operation barrier(call_options options = {});

    /// Sends or receives a message; both sides have the same count. Messages have places in the order like all calls. Two ranks that send
    /// to each other use exchange, which does all its parts at once.
    operation send(const const_device_span& data, tutti::rank to, call_options options = {});
    operation recv(const device_span& data, tutti::rank from, call_options options = {});
    operation exchange(std::span<const transfer> parts, call_options options = {});
    /// Exchanges a list in braces.
    operation exchange(std::initializer_list<transfer> parts, call_options options = {}) {
        return exchange(std::span<const transfer>(parts.begin(), parts.size()), options);
    }

    /// Makes a communicator of the ranks that give the same color, on the same devices, ordered by key, then by rank here. All ranks call
    /// it.
    task<std::unique_ptr<communicator>> split(int color, int key);
    /// Makes a communicator of all ranks except `without`, in their order here, on the same devices. The remaining ranks call it with the
    /// same list; the others do not. It works after a failure, so that the remaining ranks can continue; then nothing is pending here, nor
    /// called until it has ended. error::invalid_argument, on this rank, if `without` holds this rank or a number that is no rank.
    task<std::unique_ptr<communicator>> shrink(std::vector<tutti::rank> without);

    /// Ends when the communicator fails, with that failure, or with error::closed when it is closed. May be dropped.
    future<> watch();
    /// Ends every operation on every rank with error::aborted and `reason`.
    void abort(std::string reason);
    /// Waits for pending operations, frees everything, and waits for the other ranks. Closes in any case. An operation pending here for
    /// longer than `within` fails the communicator on all ranks. The error names ranks that have not closed by then. Freeing may take
    /// device_options::stuck more. Throws the failure of a failed communicator.
    task<> close(duration within = std::chrono::seconds(30));

    /// For the library.
    explicit communicator(std::unique_ptr<device_group> made);
    device_group& inner() const noexcept { return *group_; }

private:
    std::unique_ptr<device_group> group_;
};

}  // namespace gpu
}  // namespace tutti
