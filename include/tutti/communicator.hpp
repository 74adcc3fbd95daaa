// A group of ranks, and what they can do together.
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

/// Parts of communicator::exchange, of typed memory.
template <detail::offered Data>
transfer send_to(Data&& from, rank peer, message_tag tag = 0) noexcept {
    return send_to(detail::reading<Data>(from), peer, tag);
}
template <detail::offered Data>
transfer recv_from(Data&& to, rank peer, message_tag tag = 0, received* told = nullptr) noexcept {
    return recv_from(detail::writing<Data>(to), peer, tag, told);
}

/// How one call differs from the others of its communicator.
struct call_options {
    duration deadline{};          // until the end, from the call, kept to 10 ms or so; 0: the communicator's default
    const char* label = nullptr;  // told in messages; of a collective compared, see communicator; outlives the operation
    bool allocated = false;       // a hint, the same on all ranks: the memory of every rank's buffers comes from `allocate`
    places* place = nullptr;      // of a collective: it takes the next of these places in the order, instead of the one behind all calls
    persistent* keep = nullptr;   // for the library: where the call is kept, instead of being issued; see persistent.hpp
};

/// The counts of a gather_v or scatter_v of which only the root has a list: `counts_at_root(counts)` there, `counts_at_root()` elsewhere.
struct counts_at_root {
    counts_at_root() = default;
    explicit counts_at_root(std::span<const std::size_t> all) noexcept : counts(all) {}
    std::span<const std::size_t> counts;
};

/// For `communicator::split`: this rank takes part in the call, and in no child.
inline constexpr std::nullopt_t no_color = std::nullopt;

/// Ranks 0 to size - 1 and their collectives. Made by tutti::run, by context::join, or by split; closed with `close`.
///
/// Order. All ranks call the collectives of a communicator in the same order. A call takes its place in that order when it returns, not
/// when its future is awaited. When ranks disagree about an operation the communicator fails with error::mismatch on all of them: in that
/// call, or, where a rank's part of it is done already, in the next one or in `close`.
///
/// Labels. All ranks give a collective the same call_options::label, or all give none: two calls that agree in everything but that are
/// error::mismatch as well, which names both labels. An empty label is none. Messages and monitored_barrier only tell their labels.
///
/// Memory. Buffers, and operators of the user's, are borrowed: they stay alive and untouched until the future ends. Counts are elements.
/// An output may be the very memory of the input where a function says so; any other overlap is error::invalid_argument.
///
/// Failure. The first failure on any rank fails the communicator on all of them: what is pending and what is called later ends with that
/// cause. The content of outputs is then indeterminate; inputs are as they were. That holds for a call with wrong arguments too, because
/// the other ranks wait for it. Cancelling an operation, or dropping its future before the end, fails the communicator as well; but a
/// receive or a probe ends alone.
///
/// Threads. Every function may be called from any thread; calls that race are put into some order, which the ranks must then share.
class communicator {
public:
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Does not block. Without a close() before, the other ranks are told: that this rank has left, or, when operations were pending (other
    /// than probes), that it aborted them.
    ~communicator();

    int rank() const noexcept;
    int size() const noexcept;
    /// Hosts that its ranks are on, as the ranks say; the same number on all of them. Where several ranks share one of several hosts, some
    /// algorithms combine within hosts first.
    int hosts() const noexcept;
    const std::string& name() const noexcept;
    /// How this rank reaches another for collectives: "shm..." through shared memory, "address:port" over TCP. Empty for itself, and before
    /// the first transfer between the two.
    std::string route(tutti::rank peer) const;

    /// `count` zeros in memory that the ranks of this host can read where it is: what is sent from there is not copied first. Any buffer may
    /// be given to any operation; this one costs less, the least where all ranks' buffers are of this kind and call_options::allocated says
    /// so. Where ranks share no memory it is ordinary memory, as is what a rank has of it beyond 256 GiB. Throws std::bad_alloc.
    template <element T>
    shared_array<T> allocate(std::size_t count) {
        return shared_array<T>(allocate_bytes(count, sizeof(T)), count);
    }

    /// What `co_await` would give or throw, for an operation of this communicator; but this thread does nothing else until the end, not even
    /// for its loop's other work: it makes the progress itself where it may, and neither yields nor sleeps. For few small operations, on a core
    /// of one's own. Throws error::invalid_argument on the loop that makes this communicator's progress, where the future stays as it was, and
    /// for an empty future.
    template <class T>
    T spin(future<T>&& started) {
        check_spin();
        const detail::state_reference state = started.take_state();
        spin_until(state);
        return detail::take<T>(*state.get());
    }

    /// Combines `data` over all ranks, in place, on all ranks: the same bits everywhere.
    future<> all_reduce(buffer data, reduction op, call_options options = {});
    /// The same out of place. `to` has as many elements as `from`, and may be `from`.
    future<> all_reduce(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Combines the buffers of `list` over all ranks, in place, as if they lay behind each other in one: one operation. They have one
    /// element type and do not overlap; their number and sizes are the same on all ranks, and none, or an empty one, is as good as any
    /// other. The list itself is copied by the call.
    future<> all_reduce(std::span<const buffer> list, reduction op, call_options options = {});
    /// For `all_reduce({one, other}, sum)` with buffers or spans; of vectors and arrays `buffers` makes a list. To be awaited in a statement of its
    /// own: GCC before 13 does not compile a list in braces within a co_await, but does compile `buffers` there.
    future<> all_reduce(std::initializer_list<buffer> list, reduction op, call_options options = {}) {
        return all_reduce(std::span<const buffer>(list.begin(), list.size()), op, options);
    }
    /// Copies the root's `data` to all ranks.
    future<> broadcast(buffer data, tutti::rank root, call_options options = {});
    /// Combines `data` over all ranks, in place on the root; on the other ranks it is only read.
    future<> reduce(buffer data, reduction op, tutti::rank root, call_options options = {});
    /// `to` is used on the root only, where it may be `from`; elsewhere it may be empty.
    future<> reduce(const_buffer from, buffer to, reduction op, tutti::rank root, call_options options = {});
    /// Puts every rank's `from` behind each other into `to`, which has size() times as many elements. `from` may be this rank's part of `to`.
    future<> all_gather(const_buffer from, buffer to, call_options options = {});
    /// Combines `from`, of size() parts, over all ranks; rank r gets part r. `to` may be this rank's part of `from`.
    future<> reduce_scatter(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Part p of `from` goes to rank p, and part p of `to` comes from rank p. No overlap.
    future<> all_to_all(const_buffer from, buffer to, call_options options = {});
    /// Puts every rank's `from` behind each other into the root's `to`, which has size() times as many elements. Elsewhere `to` is not used
    /// and may be empty. On the root `from` may be its part of `to`.
    future<> gather(const_buffer from, buffer to, tutti::rank root, call_options options = {});
    /// Part r of the root's `from`, of size() parts, goes to rank r. Elsewhere `from` is not used and may be empty. On the root `to` may be
    /// its part of `from`.
    future<> scatter(const_buffer from, buffer to, tutti::rank root, call_options options = {});
    /// Combines `data` over the ranks up to and including this one, in place. There is no `avg` of some ranks: error::unsupported.
    future<> scan(buffer data, reduction op, call_options options = {});
    /// The same out of place. `to` has as many elements as `from`, and may be `from`.
    future<> scan(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Combines `data` over the ranks before this one. Rank 0, which has none before it, gets what changes nothing: 0 for sum, bor, bxor and
    /// premul, 1 for prod, all bits for band, the type's largest value for min and its smallest for max, which of floating types are the
    /// infinities. A custom_op or an untyped_op says what its own is, on all ranks; without one the call is error::unsupported.
    future<> exclusive_scan(buffer data, reduction op, call_options options = {});
    /// The same out of place. `to` has as many elements as `from`, and may be `from`.
    future<> exclusive_scan(const_buffer from, buffer to, reduction op, call_options options = {});
    /// Ends when every rank has called it.
    future<> barrier(call_options options = {});
    /// A barrier that names in error::timed_out, on all ranks, all those who have not come within the shortest deadline of those who have. It
    /// also says who does not even answer, as a stopped process, and whose word would come by way of it: of these nothing is known. A plain
    /// barrier names only those this rank waits for itself. Independent of the order of collectives: the n-th call on one rank meets the
    /// n-th on the others. Passes through rank 0 and allocates, so it is no barrier for inner loops.
    future<> monitored_barrier(call_options options = {});

    // With a count for each rank, in elements; 0 is one too. Parts lie behind each other without gaps, in the order of ranks. Counts are
    // read during the call only. Where there is one list, all ranks give all of it, and lists that differ are error::mismatch.

    /// Puts every rank's `from`, of counts[rank()] elements, behind each other into `to`. `from` may be this rank's part of `to`.
    future<> all_gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, call_options options = {});
    /// Combines `from` over all ranks; rank r gets part r, of counts[r] elements. `to` may be this rank's part of `from`.
    future<> reduce_scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, reduction op, call_options options = {});
    /// Like gather and scatter.
    future<> gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {});
    future<> scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options = {});
    /// The same where the root alone knows the counts; they are not used elsewhere. Another rank gives its own part only: `from` of a gather_v,
    /// `to` of a scatter_v. Where the root's list has another count for it, that is error::mismatch, which names both ranks and counts. All
    /// ranks call this form, or all call the other. Here a part travels as a whole, over one connection.
    future<> gather_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options = {});
    future<> scatter_v(const_buffer from, buffer to, counts_at_root counts, tutti::rank root, call_options options = {});
    /// Part p of `from`, of send_counts[p] elements, goes to rank p; part p of `to`, of recv_counts[p], comes from rank p. Where one rank
    /// sends another number than the other receives, that is error::mismatch. No overlap.
    future<> all_to_all_v(const_buffer from, buffer to, std::span<const std::size_t> send_counts, std::span<const std::size_t> recv_counts,
                          call_options options = {});

    // With a list of buffers, one for each rank, instead of parts that lie behind each other: made by `buffers`, or any span, vector or array of
    // tutti::buffer. All have one type and the same count. Nothing is copied. A buffer that is written overlaps no other, but where a part may
    // be the very memory of the other argument above, the list's buffer may. Lists are read during the call only. On the wire it is the same
    // operation, so other ranks may call the other form.

    template <class From, detail::buffer_list Parts>
    future<> all_gather(From&& from, const Parts& to, call_options options = {}) {
        return all_gather_parts(detail::input<From>(from), to, options);
    }
    /// Elsewhere than on the root the list is not used and may be empty, here and in scatter.
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

    // Messages, independent of collectives and of their order. A receive takes the first message that has its source and tag: messages
    // with the same source and tag are received in the order of their sends, others stay until they are asked for. The receiver keeps
    // short messages that nobody has asked for yet, so their sends end early; long ones wait with their sender.

    /// To any rank, this one included. Ends when `data` is free again, which says nothing about the receiver. A send that is cancelled, is
    /// dropped, or meets its deadline fails the communicator, because the receiver counts on the message.
    future<> send(const_buffer data, tutti::rank to, message_tag tag = 0, call_options options = {});
    /// The message may have fewer elements than `data`, and the result tells how many. One that has more is error::truncated, and one of
    /// another element type error::mismatch. Either ends this receive alone: `data` stays as it was, the message is thrown away, and its
    /// send ends well. A receive that is cancelled, is dropped, or meets its deadline also ends alone: `data` is not written any more, and
    /// the message goes to the next receive that fits it, unless it is a long one that had been asked for, whose bytes are thrown away.
    future<received> recv(buffer data, tutti::rank from, message_tag tag = 0, call_options options = {});
    /// The same when a message has come already, and nothing otherwise. A short one ends at once; a long one is on its way.
    std::optional<future<received>> try_recv(buffer data, tutti::rank from, message_tag tag = 0, call_options options = {});
    /// Ends when a message is there that a receive with the same arguments would take, and leaves it there. Cancelling or dropping a probe,
    /// or its deadline, ends nothing but the probe; so does error::peer_left, when no rank is left that could send.
    future<received> probe(tutti::rank from, message_tag tag = 0, call_options options = {});
    /// The same for a message that has come already. Throws `failure` when the communicator has failed.
    std::optional<received> try_probe(tutti::rank from, message_tag tag = 0);
    /// Starts all `parts` at once, made by send_to and recv_from; ends when all have. Their order matters only among sends to one rank with
    /// one tag, and among receives that fit the same message. What a part receives into overlaps no other part. A receive that gets a message
    /// which does not fit it fails the exchange, alone, when all other parts have ended. An exchange that ends early ends alone where only
    /// receives of it are left, and fails the communicator where a send is.
    future<> exchange(std::span<const transfer> parts, call_options options = {});
    template <std::same_as<transfer>... Parts>
    future<> exchange(const Parts&... parts) {
        const std::array<transfer, sizeof...(Parts)> all{parts...};
        return exchange(std::span<const transfer>(all));
    }

    /// A communicator of the ranks that give the same `color`, ordered by `key` and then by rank here; a null pointer for those that give
    /// `no_color`. All ranks call it; its exchange is under way when the call returns. The child works beside its parent and may outlive it.
    /// Throws the parent's failure, and the child's, which ranks that have it already may have made fail; ranks in that are the child's. Its
    /// name is "world/2.7" for color 7 in the second split of "world" (communicators of devices count, too).
    task<std::unique_ptr<communicator>> split(std::optional<int> color, int key);

#if TUTTI_GPU
    /// The same ranks, for collectives on memory of devices: include <tutti/gpu/communicator.hpp>. All ranks call it; one without a device gives
    /// the failure instead, and takes part with memory of the host. Throws, on all ranks, error::unsupported where NCCL was insisted on, naming
    /// the rank that cannot use it and why, and error::invalid_argument naming two ranks that have the same device.
    task<std::unique_ptr<gpu::communicator>> device(result<gpu::device> card);
    task<std::unique_ptr<gpu::communicator>> device(result<gpu::device> card, gpu::group_options options);
#endif

    /// The next `count` places in the order of collectives, at most 2^20, for calls that come later. All ranks reserve as many, in that order.
    places reserve(std::size_t count);
    /// Ends when all collectives and messages that this rank has called before have ended, but for probes and monitored barriers. Not collective.
    future<> sync();
    /// Ends when the communicator has failed, with that failure, whether or not an operation is under way; or with error::closed when it is
    /// closed. May be dropped.
    future<> watch();
    /// Ends every operation on every rank with error::aborted and `reason`. Does not block; the second call changes nothing.
    void abort(std::string reason);
    /// Waits for what is pending, but for probes, says goodbye, and waits until all ranks have. Throws error::timed_out, naming who has not, when
    /// that takes longer than `within`, error::mismatch where some ranks have called more collectives than others, and the failure of a
    /// communicator that has failed; it is closed then too. What is pending here for so long fails it, on all ranks. Cancelling does
    /// nothing; `within` is its limit.
    task<> close(duration within = std::chrono::seconds(30));

    // The same for typed memory: vectors, arrays and spans. Mixed types do not compile, nor does an operator that is known by its type
    // (`sum`, premul_sum, a custom_op; not a reduce_op) and is not defined for the elements; the compiler says why in a sentence. Elements
    // without a data_type of their own, such as structs, are moved as they are; a custom_op combines them.
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
