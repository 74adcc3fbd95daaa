// A communicator: a group of ranks and the operations between them.
#pragma once

#include <tutti/detail/build.hpp>
#include <tutti/detail/elements.hpp>
#include <tutti/future.hpp>
#include <tutti/message.hpp>
#include <tutti/places.hpp>
#include <tutti/shared_array.hpp>
#include <tutti/task.hpp>
#include <tutti/types.hpp>

#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace [[gnu::visibility("default")]] tutti {

namespace gpu {
class communicator;
class device;
struct group_options;
}  // namespace gpu

class persistent;

namespace detail {
class inside_of;
class group;
struct group_deleter {
    void operator()(group* which) const noexcept;
};

}  // namespace detail

/// Makes a part of communicator::exchange from typed memory.
template <detail::offered Data>
transfer send_to(Data&& from, rank peer, message_tag tag = 0) noexcept {
    return send_to(detail::reading<Data>(from), peer, tag);
}
template <detail::offered Data>
transfer recv_from(Data&& to, rank peer, message_tag tag = 0, received* told = nullptr) noexcept {
    return recv_from(detail::writing<Data>(to), peer, tag, told);
}

/// Options of one call.
struct call_options {
    duration deadline{};          // from the call to its end, kept to about 10 ms; 0: the communicator's default
    const char* label = nullptr;  // appears in messages; of a collective, ranks compare it (see communicator). Outlives the operation
    bool allocated = false;       // a hint, equal on all ranks: the buffers of every rank come from `allocate`
    places* place = nullptr;      // of a collective: takes the next of these reserved places in the order of calls
    persistent* keep = nullptr;   // for the library: the call is kept there and not issued (persistent.hpp)
};

/// The counts of a gather_v or scatter_v that only the root knows: `counts_at_root(counts)` there, `counts_at_root()` elsewhere.
struct counts_at_root {
    counts_at_root() = default;
    explicit counts_at_root(std::span<const std::size_t> all) noexcept : counts(all) {}
    std::span<const std::size_t> counts;
};

/// For `communicator::split`: this rank takes part in the call, but joins no child.
inline constexpr std::nullopt_t no_color = std::nullopt;

/// Ranks 0 to size() - 1 and their operations. tutti::run, context::join and split make one; `close` ends it.
///
/// Order. All ranks call the collectives of a communicator in the same order. A call takes its place in that order before it returns, not
/// when its future is awaited. Ranks that disagree about an operation fail the communicator with error::mismatch on all ranks. A rank that
/// has already done its part sees that failure in its next call or in `close`.
///
/// Labels. All ranks give a collective the same call_options::label, or none does; an empty label is none. A difference is error::mismatch,
/// which names both labels. Messages and monitored_barrier do not compare their labels.
///
/// Memory. Buffers and user-defined operators are borrowed: they stay alive and untouched until the future ends. Counts are elements. An
/// output may be exactly the memory of the input where a function says so. Any other overlap is error::invalid_argument.
///
/// Failure. The first failure on any rank fails the communicator on all ranks. Pending and later operations end with that cause. Outputs
/// are then indeterminate; inputs are unchanged. Wrong arguments fail the communicator too, because the other ranks wait for the call. So
/// does cancelling an operation, or dropping its future before the end; but a receive or a probe ends alone.
///
/// Threads. Any thread may call any function. Calls that race are put into some order, which must be the same on all ranks.
class communicator {
public:
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Does not block. Without a close() before, the other ranks learn that this rank has left or, if operations other than probes were
    /// pending, that it aborted them.
    ~communicator();

    int rank() const noexcept;
    int size() const noexcept;
    /// Returns the number of hosts that the ranks are on, equal on all ranks. With several hosts and several ranks on one of them, some
    /// algorithms combine within hosts first.
    int hosts() const noexcept;
    const std::string& name() const noexcept;
    /// Returns how this rank reaches `peer` for collectives: "shm..." through shared memory, "address:port" over TCP. Empty for this rank
    /// itself, and before the first transfer between the two.
    std::string route(tutti::rank peer) const;

    /// Returns `count` zeros in memory that all ranks of this host can read, so that sending from it saves a copy. Every operation takes
    /// any buffer. This kind costs least when every rank uses it and sets call_options::allocated. Without shared memory, and beyond 256
    /// GiB per rank, the memory is ordinary. Throws std::bad_alloc.
    template <element T>
    shared_array<T> allocate(std::size_t count) {
        return shared_array<T>(allocate_bytes(count, sizeof(T)), count);
    }

    /// Returns or throws what `co_await` would, but busy-waits: this thread makes the progress itself where it may. It does not yield,
    /// sleep, or do other work of its loop. For few small operations on a core of one's own. Throws error::invalid_argument for an empty
    /// future, and on the loop that makes this communicator's progress; there the future stays as it was.
    template <class T>
    T spin(future<T>&& started) {
        check_spin();
        const detail::state_reference state = started.take_state();
        spin_until(state);
        return detail::take<T>(*state.get());
    }

    /// Combines `data` over all ranks, in place. All ranks get the same bits.
    future<> all_reduce(buffer data, reduction op, call_options options = {});
    /// Combines out of place. `to` has as many elements as `from`, and may be `from`.
    future<> all_reduce(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Combines the buffers of `list` in place, in one operation, as if they were one buffer. They have one element type and do not
    /// overlap. Their number and sizes are the same on all ranks; the list and its buffers may be empty. The call copies the list.
    future<> all_reduce(std::span<const buffer> list, reduction op, call_options options = {});
    /// For `all_reduce({one, other}, sum)` with buffers or spans; `buffers` makes a list of vectors and arrays. Await it in a statement of
    /// its own: GCC before 13 does not compile a braced list within a co_await. It does compile `buffers` there.
    future<> all_reduce(std::initializer_list<buffer> list, reduction op, call_options options = {}) {
        return all_reduce(std::span<const buffer>(list.begin(), list.size()), op, options);
    }
    /// Copies the root's `data` to all ranks.
    future<> broadcast(buffer data, tutti::rank root, call_options options = {});
    /// Combines `data` over all ranks, in place on the root. The other ranks' `data` is only read.
    future<> reduce(buffer data, reduction op, tutti::rank root, call_options options = {});
    /// Combines out of place. `to` is used on the root only, where it may be `from`; elsewhere it may be empty.
    future<> reduce(const_buffer from, buffer to, reduction op, tutti::rank root, call_options options = {});
    /// Concatenates all ranks' `from`, in rank order, into `to` of size() times as many elements. `from` may be this rank's part of `to`.
    future<> all_gather(const_buffer from, buffer to, call_options options = {});
    /// Combines `from`, of size() equal parts, over all ranks; rank r gets part r. `to` may be this rank's part of `from`.
    future<> reduce_scatter(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Sends part p of `from` to rank p, and receives part p of `to` from rank p. They do not overlap.
    future<> all_to_all(const_buffer from, buffer to, call_options options = {});
    /// Concatenates all ranks' `from`, in rank order, into the root's `to` of size() times as many elements. `to` is used on the root only,
    /// and may be empty elsewhere. On the root `from` may be its part of `to`.
    future<> gather(const_buffer from, buffer to, tutti::rank root, call_options options = {});
    /// Sends part r of the root's `from`, of size() equal parts, to rank r. `from` is used on the root only, and may be empty elsewhere. On
    /// the root `to` may be its part of `from`.
    future<> scatter(const_buffer from, buffer to, tutti::rank root, call_options options = {});
    /// Combines `data` over the ranks up to and including this one, in place. `avg` is error::unsupported.
    future<> scan(buffer data, reduction op, call_options options = {});
    /// Combines out of place. `to` has as many elements as `from`, and may be `from`.
    future<> scan(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Combines `data` over the ranks before this one. Rank 0 gets the neutral element: 0 for sum, bor, bxor and premul, 1 for prod, all
    /// bits for band, the type's largest value for min and its smallest for max (for floating types, the infinities). A custom_op or
    /// untyped_op defines its own, on all ranks; without one the call is error::unsupported.
    future<> exclusive_scan(buffer data, reduction op, call_options options = {});
    /// Combines out of place. `to` has as many elements as `from`, and may be `from`.
    future<> exclusive_scan(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Ends when every rank has called it.
    future<> barrier(call_options options = {});
    /// Waits like barrier. Its error::timed_out names, on all ranks, every rank that did not come within the shortest deadline of those
    /// that came. It marks ranks that do not even answer, such as stopped processes, and ranks that could answer only through those: their
    /// state is unknown. (A plain barrier names only the ranks that this rank itself waits for.) Independent of the order of collectives:
    /// the n-th calls of all ranks meet. It passes through rank 0 and allocates, so do not use it in inner loops.
    future<> monitored_barrier(call_options options = {});

    // Collectives with a count of elements for each rank, which may be 0. Parts lie in rank order without gaps. Counts are read during the
    // call only. Where there is one list, it is the same on all ranks; different lists are error::mismatch.

    /// Concatenates all ranks' `from`, of counts[rank()] elements, into `to`. `from` may be this rank's part of `to`.
    future<> all_gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, call_options options = {});
    /// Combines `from` over all ranks; rank r gets part r, of counts[r] elements. `to` may be this rank's part of `from`.
    future<> reduce_scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, reduction op, call_options options = {});
    /// Gathers and scatters as above, with counts.
    future<> gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {});
    future<> scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {});
    /// For counts that only the root knows; elsewhere `counts` is not used. Another rank gives its own part: `from` of a gather_v, `to` of
    /// a scatter_v. If the root has another count for it, that is error::mismatch, naming both ranks and counts. All ranks call this form,
    /// or all the other. A part travels as a whole, over one connection.
    future<> gather_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options = {});
    future<> scatter_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options = {});
    /// Sends part p of `from`, of send_counts[p] elements, to rank p, and receives part p of `to`, of recv_counts[p], from rank p. If a
    /// pair's counts differ, that is error::mismatch. `from` and `to` do not overlap.
    future<> all_to_all_v(const_buffer from, buffer to, std::span<const std::size_t> send_counts, std::span<const std::size_t> recv_counts,
                          call_options options = {});

    // Collectives with a list of buffers, one for each rank, in place of adjacent parts. The list is made by `buffers`, or is a span, vector
    // or array of tutti::buffer. All have one type and one count. Nothing is copied. A buffer that is written overlaps no other; but where a
    // part may be the other argument's memory above, the list's buffer may, too. Lists are read during the call only. Other ranks may call
    // the other form: on the wire it is the same operation.

    template <class From, detail::buffer_list Parts>
    future<> all_gather(From&& from, const Parts& to, call_options options = {}) {
        return all_gather_parts(detail::input<From>(from), to, options);
    }
    /// Here and in scatter, the list is used on the root only, and may be empty elsewhere.
    template <class From, detail::buffer_list Parts>
    future<> gather(From&& from, const Parts& to, tutti::rank root, call_options options = {}) {
        return gather_parts(detail::input<From>(from), to, root, options);
    }
    template <detail::buffer_list Parts, class To>
    future<> scatter(const Parts& from, To&& to, tutti::rank root, call_options options = {}) {
        return scatter_parts(from, detail::output<To>(to), root, options);
    }
    template <detail::buffer_list Parts, class To>
    future<> reduce_scatter(const Parts& from, To&& to, reduction op, call_options options = {}) {
        return reduce_scatter_parts(from, detail::output<To>(to), op, options);
    }
    future<> all_to_all(std::span<const buffer> from, std::span<const buffer> to, call_options options = {});

    // Messages are independent of collectives and their order. A receive takes the first message with its source and tag. Messages with one
    // source and tag arrive in the order of their sends; a message waits until a receive asks for it. A short one waits at the receiver, so
    // its send ends early; a long one waits at its sender.

    /// Sends `data` to any rank, this one included. Ends when `data` is free again, which says nothing about the receiver. Cancelling or
    /// dropping a send, or its deadline, fails the communicator, because the receiver counts on the message.
    future<> send(const_buffer data, tutti::rank to, message_tag tag = 0, call_options options = {});
    /// Receives a message of at most as many elements as `data`; the result has its count. A longer one is error::truncated, and one of
    /// another element type error::mismatch. Either ends this receive alone: `data` stays as it was, the message is discarded, and its send
    /// ends well. Cancelling or dropping a receive, or its deadline, also ends it alone. `data` is then no longer written, and the message
    /// goes to the next receive that fits. But a long message that had been asked for is discarded.
    future<received> recv(buffer data, tutti::rank from, message_tag tag = 0, call_options options = {});
    /// Receives a message that has already come; otherwise returns nullopt. A short one ends at once; a long one is on its way.
    std::optional<future<received>> try_recv(buffer data, tutti::rank from, message_tag tag = 0, call_options options = {});
    /// Ends when a message is there that a receive with the same arguments would take, and leaves it there. Cancelling or dropping a probe,
    /// its deadline, or error::peer_left (no rank is left that could send) ends the probe alone.
    future<received> probe(tutti::rank from, message_tag tag = 0, call_options options = {});
    /// Returns such a message if it has already come. Throws `failure` when the communicator has failed.
    std::optional<received> try_probe(tutti::rank from, message_tag tag = 0);
    /// Starts all `parts`, made by send_to and recv_from, at once; ends when all have ended. Their order matters only among sends to one
    /// rank with one tag, and among receives that fit the same message. The buffer of a receive overlaps no other part. A message that
    /// does not fit its receive fails only the exchange, after all other parts have ended. If the exchange is cancelled, dropped or late,
    /// it ends alone when only receives are left; with a send left it fails the communicator.
    future<> exchange(std::span<const transfer> parts, call_options options = {});
    template <std::same_as<transfer>... Parts>
    future<> exchange(const Parts&... parts) {
        const std::array<transfer, sizeof...(Parts)> all{parts...};
        return exchange(std::span<const transfer>(all));
    }

    // The communicator as a whole.

    /// Makes a communicator of the ranks that give the same `color`, ordered by `key`, then by rank here; null for ranks that give
    /// `no_color`. All ranks call it; its exchange starts before the call returns. The child is independent of its parent and may outlive
    /// it. Throws the parent's failure, or the child's if a rank that has it already has made it fail; ranks in that failure are the
    /// child's. Color 7 in the second split of "world" is named "world/2.7" (device() counts as a split).
    task<std::unique_ptr<communicator>> split(std::optional<int> color, int key);

#if TUTTI_GPU
    /// Returns the same ranks for collectives on device memory: include <tutti/gpu/communicator.hpp>. All ranks call it. A rank without a
    /// device gives the failure, and takes part with host memory. Throws, on all ranks, error::unsupported if NCCL is required (naming the
    /// rank that cannot use it and why), and error::invalid_argument if two ranks have one device (naming both).
    task<std::unique_ptr<gpu::communicator>> device(result<gpu::device> card);
    task<std::unique_ptr<gpu::communicator>> device(result<gpu::device> card, gpu::group_options options);
#endif

    /// Reserves the next `count` places in the order of collectives, at most 2^20, for later calls. All ranks reserve as many, in that
    /// order.
    places reserve(std::size_t count);
    /// Ends when this rank's earlier collectives and messages have ended, except probes and monitored barriers. Not a collective.
    future<> sync();
    /// Ends when the communicator fails, with that failure, even without a pending operation; or with error::closed when it is closed. May
    /// be dropped.
    future<> watch();
    /// Ends every operation on every rank with error::aborted and `reason`. Does not block. A second call changes nothing.
    void abort(std::string reason);
    /// Waits for this rank's pending operations except probes, then for all ranks to close. Closes in any case. Throws error::timed_out
    /// after `within`, naming the missing ranks; an operation pending here for so long fails the communicator on all ranks. Throws
    /// error::mismatch if some ranks have called more collectives, and the failure of a failed communicator. Cancelling has no effect;
    /// `within` is the limit.
    task<> close(duration within = std::chrono::seconds(30));

    // Overloads for typed memory: vectors, arrays and spans. Mixed types do not compile. Nor does an operator known by its type (`sum`,
    // premul_sum, a custom_op; not a reduce_op) that is not defined for the elements; the compiler says why. Elements without a data_type,
    // such as structs, are moved as they are; a custom_op combines them.

    template <detail::offered Data, class Op>
    future<> all_reduce(Data&& data, Op&& op, call_options options = {}) {
        return all_reduce(detail::writing<Data>(data), detail::reducing<Data>(std::forward<Op>(op)), options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> all_reduce(From&& from, To&& to, Op&& op, call_options options = {}) {
        return all_reduce(detail::reading<From>(from), detail::writing_like<To, From>(to), detail::reducing<From>(std::forward<Op>(op)),
                          options);
    }
    template <detail::offered Data>
    future<> broadcast(Data&& data, tutti::rank root, call_options options = {}) {
        return broadcast(detail::writing<Data>(data), root, options);
    }
    template <detail::offered Data, class Op>
    future<> reduce(Data&& data, Op&& op, tutti::rank root, call_options options = {}) {
        return reduce(detail::writing<Data>(data), detail::reducing<Data>(std::forward<Op>(op)), root, options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> reduce(From&& from, To&& to, Op&& op, tutti::rank root, call_options options = {}) {
        return reduce(detail::reading<From>(from), detail::writing_like<To, From>(to), detail::reducing<From>(std::forward<Op>(op)), root,
                      options);
    }
    template <detail::offered From, detail::offered To>
    future<> all_gather(From&& from, To&& to, call_options options = {}) {
        return all_gather(detail::reading<From>(from), detail::writing_like<To, From>(to), options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> reduce_scatter(From&& from, To&& to, Op&& op, call_options options = {}) {
        return reduce_scatter(detail::reading<From>(from), detail::writing_like<To, From>(to), detail::reducing<From>(std::forward<Op>(op)),
                              options);
    }
    template <detail::offered From, detail::offered To>
    future<> all_to_all(From&& from, To&& to, call_options options = {}) {
        return all_to_all(detail::reading<From>(from), detail::writing_like<To, From>(to), options);
    }
    template <detail::offered From, detail::offered To>
    future<> gather(From&& from, To&& to, tutti::rank root, call_options options = {}) {
        return gather(detail::reading<From>(from), detail::writing_like<To, From>(to), root, options);
    }
    template <detail::offered From, detail::offered To>
    future<> scatter(From&& from, To&& to, tutti::rank root, call_options options = {}) {
        return scatter(detail::reading<From>(from), detail::writing_like<To, From>(to), root, options);
    }
    template <detail::offered Data, class Op>
    future<> scan(Data&& data, Op&& op, call_options options = {}) {
        return scan(detail::writing<Data>(data), detail::scanning<Data>(std::forward<Op>(op)), options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> scan(From&& from, To&& to, Op&& op, call_options options = {}) {
        return scan(detail::reading<From>(from), detail::writing_like<To, From>(to), detail::scanning<From>(std::forward<Op>(op)), options);
    }
    template <detail::offered Data, class Op>
    future<> exclusive_scan(Data&& data, Op&& op, call_options options = {}) {
        return exclusive_scan(detail::writing<Data>(data), detail::scanning<Data>(std::forward<Op>(op)), options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> exclusive_scan(From&& from, To&& to, Op&& op, call_options options = {}) {
        return exclusive_scan(detail::reading<From>(from), detail::writing_like<To, From>(to), detail::scanning<From>(std::forward<Op>(op)),
                              options);
    }
    template <detail::offered From, detail::offered To>
    future<> all_gather_v(From&& from, To&& to, std::span<const std::size_t> counts, call_options options = {}) {
        return all_gather_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts, options);
    }
    template <detail::offered From, detail::offered To, class Op>
    future<> reduce_scatter_v(From&& from, To&& to, std::span<const std::size_t> counts, Op&& op, call_options options = {}) {
        return reduce_scatter_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts,
                                detail::reducing<From>(std::forward<Op>(op)), options);
    }
    template <detail::offered From, detail::offered To>
    future<> gather_v(From&& from, To&& to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {}) {
        return gather_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts, root, options);
    }
    template <detail::offered From, detail::offered To>
    future<> scatter_v(From&& from, To&& to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {}) {
        return scatter_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts, root, options);
    }
    template <detail::offered From, detail::offered To>
    future<> gather_v(From&& from, To&& to, counts_at_root counts, tutti::rank root, call_options options = {}) {
        return gather_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts, root, options);
    }
    template <detail::offered From, detail::offered To>
    future<> scatter_v(From&& from, To&& to, counts_at_root counts, tutti::rank root, call_options options = {}) {
        return scatter_v(detail::reading<From>(from), detail::writing_like<To, From>(to), counts, root, options);
    }
    template <detail::offered From, detail::offered To>
    future<> all_to_all_v(From&& from, To&& to, std::span<const std::size_t> send_counts, std::span<const std::size_t> recv_counts,
                          call_options options = {}) {
        return all_to_all_v(detail::reading<From>(from), detail::writing_like<To, From>(to), send_counts, recv_counts, options);
    }
    template <detail::offered Data>
    future<> send(Data&& data, tutti::rank to, message_tag tag = 0, call_options options = {}) {
        return send(detail::reading<Data>(data), to, tag, options);
    }
    template <detail::offered Data>
    future<received> recv(Data&& data, tutti::rank from, message_tag tag = 0, call_options options = {}) {
        return recv(detail::writing<Data>(data), from, tag, options);
    }
    template <detail::offered Data>
    std::optional<future<received>> try_recv(Data&& data, tutti::rank from, message_tag tag = 0, call_options options = {}) {
        return try_recv(detail::writing<Data>(data), from, tag, options);
    }

    /// For the library: takes over a formed group.
    explicit communicator(std::unique_ptr<detail::group, detail::group_deleter> formed);

private:
    friend class detail::inside_of;
    detail::arena_memory allocate_bytes(std::size_t count, std::size_t element_bytes);
    void check_spin() const;
    void spin_until(const detail::state_reference& end) const;
    future<> all_gather_parts(const_buffer from, std::span<const buffer> to, const call_options& options);
    future<> gather_parts(const_buffer from, std::span<const buffer> to, tutti::rank root, const call_options& options);
    future<> scatter_parts(std::span<const buffer> from, buffer to, tutti::rank root, const call_options& options);
    future<> reduce_scatter_parts(std::span<const buffer> from, buffer to, const reduction& op, const call_options& options);

    std::unique_ptr<detail::group, detail::group_deleter> group_;
};

}  // namespace tutti
