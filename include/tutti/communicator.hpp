// A group of ranks, and what they can do together.
#pragma once

#include <tutti/future.hpp>
#include <tutti/task.hpp>
#include <tutti/types.hpp>

#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>

namespace tutti {

class persistent;

namespace detail {
class group;
struct group_deleter {
    void operator()(group* which) const noexcept;
};

/// A vector, array or span of elements that will outlive the call: an lvalue, or a view.
template <class Range>
concept elements = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> && std::ranges::borrowed_range<Range> &&
                   element<std::ranges::range_value_t<Range>>;
template <class Range>
concept writable_elements = elements<Range> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;
template <class One, class Other>
concept alike = std::same_as<std::ranges::range_value_t<One>, std::ranges::range_value_t<Other>>;

template <elements Range>
const_buffer reading(Range&& from) noexcept {
    return {std::ranges::data(from), std::ranges::size(from), type_of<std::ranges::range_value_t<Range>>};
}
template <writable_elements Range>
buffer writing(Range&& to) noexcept {
    return {std::ranges::data(to), std::ranges::size(to), type_of<std::ranges::range_value_t<Range>>};
}
}  // namespace detail

/// How one call differs from the others of its communicator.
struct call_options {
    duration deadline{};          // until the end, from the call; 0: the communicator's default
    const char* label = nullptr;  // told in messages; outlives the operation
    persistent* keep = nullptr;   // for the library: where the call is kept, instead of being issued; see persistent.hpp
};

/// Vectors, arrays and spans of one element type as a list of buffers.
template <detail::writable_elements First, detail::writable_elements... Others>
    requires(detail::alike<First, Others>&&...)
std::array<buffer, 1 + sizeof...(Others)> buffers(First&& first, Others&&... others)
noexcept { return {detail::writing(first), detail::writing(others)...}; }

/// Ranks 0 to size - 1 and their collectives. Made by tutti::run, by context::join, or by split; closed with `close`.
///
/// Order. All ranks call the collectives of a communicator in the same order. A call takes its place in that order when it returns, not
/// when its future is awaited. Ranks that disagree about an operation get error::mismatch, all of them.
///
/// Memory. Buffers are borrowed: they stay alive and untouched until the future ends. Counts are elements. An output may be the very
/// memory of the input where a function says so; any other overlap is error::invalid_argument.
///
/// Failure. The first failure on any rank fails the communicator on all of them: what is pending and what is called later ends with that
/// cause. The content of outputs is then indeterminate; inputs are as they were. That holds for a call with wrong arguments too, because
/// the other ranks wait for it. Cancelling an operation, or dropping its future before the end, fails the communicator as well.
///
/// Threads. Every function may be called from any thread; calls that race are put into some order, which the ranks must then share.
class communicator {
public:
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Does not block. Without a close() before, the other ranks are told: that this rank has left, or, when operations were pending, that
    /// it aborted them.
    ~communicator();

    int rank() const noexcept;
    int size() const noexcept;
    const std::string& name() const noexcept;
    /// How this rank reaches another for collectives: "shm..." through shared memory, "address:port" over TCP. Empty for itself, and before
    /// the first transfer between the two.
    std::string route(tutti::rank peer) const;

    /// Combines `data` over all ranks, in place, on all ranks: the same bits everywhere.
    future<> all_reduce(buffer data, reduce_op op, call_options options = {});
    /// The same out of place. `to` has as many elements as `from`, and may be `from`.
    future<> all_reduce(const_buffer from, buffer to, reduce_op op, call_options options = {});
    /// Combines the buffers of `list` over all ranks, in place, as if they lay behind each other in one: one operation, which copies
    /// none of them. They have one element type and do not overlap; their number and sizes are the same on all ranks, and none, or an
    /// empty one, is as good as any other. The list itself is copied by the call.
    future<> all_reduce(std::span<const buffer> list, reduce_op op, call_options options = {});
    future<> all_reduce(std::initializer_list<buffer> list, reduce_op op, call_options options = {}) {
        return all_reduce(std::span<const buffer>(list.begin(), list.size()), op, options);
    }
    /// Copies the root's `data` to all ranks.
    future<> broadcast(buffer data, tutti::rank root, call_options options = {});
    /// Combines `data` over all ranks, in place on the root; on the other ranks it is only read.
    future<> reduce(buffer data, reduce_op op, tutti::rank root, call_options options = {});
    /// `to` is used on the root only, where it may be `from`; elsewhere it may be empty.
    future<> reduce(const_buffer from, buffer to, reduce_op op, tutti::rank root, call_options options = {});
    /// Puts every rank's `from` behind each other into `to`, which has size() times as many elements. `from` may be this rank's part of `to`.
    future<> all_gather(const_buffer from, buffer to, call_options options = {});
    /// Combines `from`, of size() parts, over all ranks; rank r gets part r. `to` may be this rank's part of `from`.
    future<> reduce_scatter(const_buffer from, buffer to, reduce_op op, call_options options = {});
    /// Part p of `from` goes to rank p, and part p of `to` comes from rank p. No overlap.
    future<> all_to_all(const_buffer from, buffer to, call_options options = {});
    /// Ends when every rank has called it.
    future<> barrier(call_options options = {});

    /// To another rank. Messages between two ranks match in the order of their calls, independent of collectives.
    future<> send(const_buffer data, tutti::rank peer, call_options options = {});
    /// `data` has the type and count of the matching send.
    future<> recv(buffer data, tutti::rank peer, call_options options = {});

    /// A communicator of the ranks that give the same `color`, ordered by `key` and then by rank here. All ranks call it; its exchange is
    /// under way when the call returns. The child works beside its parent and may outlive it; names are "world/1" for color 1.
    task<std::unique_ptr<communicator>> split(int color, int key);

    /// Ends when the communicator has failed, with that failure, whether or not an operation is under way; or with error::closed when it is
    /// closed. May be dropped.
    future<> watch();
    /// Ends every operation on every rank with error::aborted and `reason`. Does not block; the second call changes nothing.
    void abort(std::string reason);
    /// Waits for what is pending, says goodbye, and waits until all ranks have. Throws error::timed_out, naming who has not, when that takes
    /// longer than `within`, and the failure of a communicator that has failed; it is closed then too.
    task<> close(duration within = std::chrono::seconds(30));

    // The same for typed memory: vectors, arrays and spans of element types. Mixed types do not compile.
    template <detail::writable_elements Data>
    future<> all_reduce(Data&& data, reduce_op op, call_options options = {}) {
        return all_reduce(detail::writing(data), op, options);
    }
    template <detail::elements From, detail::writable_elements To>
        requires detail::alike<From, To>
    future<> all_reduce(From&& from, To&& to, reduce_op op, call_options options = {}) {
        return all_reduce(detail::reading(from), detail::writing(to), op, options);
    }
    template <detail::writable_elements Data>
    future<> broadcast(Data&& data, tutti::rank root, call_options options = {}) {
        return broadcast(detail::writing(data), root, options);
    }
    template <detail::writable_elements Data>
    future<> reduce(Data&& data, reduce_op op, tutti::rank root, call_options options = {}) {
        return reduce(detail::writing(data), op, root, options);
    }
    template <detail::elements From, detail::writable_elements To>
        requires detail::alike<From, To>
    future<> reduce(From&& from, To&& to, reduce_op op, tutti::rank root, call_options options = {}) {
        return reduce(detail::reading(from), detail::writing(to), op, root, options);
    }
    template <detail::elements From, detail::writable_elements To>
        requires detail::alike<From, To>
    future<> all_gather(From&& from, To&& to, call_options options = {}) {
        return all_gather(detail::reading(from), detail::writing(to), options);
    }
    template <detail::elements From, detail::writable_elements To>
        requires detail::alike<From, To>
    future<> reduce_scatter(From&& from, To&& to, reduce_op op, call_options options = {}) {
        return reduce_scatter(detail::reading(from), detail::writing(to), op, options);
    }
    template <detail::elements From, detail::writable_elements To>
        requires detail::alike<From, To>
    future<> all_to_all(From&& from, To&& to, call_options options = {}) {
        return all_to_all(detail::reading(from), detail::writing(to), options);
    }
    template <detail::elements Data>
    future<> send(Data&& data, tutti::rank peer, call_options options = {}) {
        return send(detail::reading(data), peer, options);
    }
    template <detail::writable_elements Data>
    future<> recv(Data&& data, tutti::rank peer, call_options options = {}) {
        return recv(detail::writing(data), peer, options);
    }

    /// For the library: takes over a formed group.
    explicit communicator(std::unique_ptr<detail::group, detail::group_deleter> formed);

private:
    std::unique_ptr<detail::group, detail::group_deleter> group_;
};

}  // namespace tutti
