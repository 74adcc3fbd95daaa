#include <tutti/detail/at_home.hpp>
#include <tutti/persistent.hpp>

#include "communicator/check.hpp"
#include "communicator/checking.hpp"
#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "engine/repeated_call.hpp"
#include "runtime/shift.hpp"

#include <fmt/format.h>

#include "transport/arena.hpp"

#include <limits>
#include <new>
#include <numeric>
namespace tutti {

using detail::check_count;
using detail::check_counts;
using detail::check_memory;
using detail::check_operands;
using detail::check_overlap;
using detail::check_rank;
using detail::check_same_type;
using detail::check_total;
using detail::complaint;
using detail::first_of;

namespace detail {

/// Groups are destroyed on their loop. Until then the engine touches no user's memory any more.
void group_deleter::operator()(group* which) const noexcept {
    if (!which->made().here()) {
        leave_alone(std::unique_ptr<group>(which));
        return;
    }
    const auto home = which->shared_home();
    which->engine().drop();
    // A letter that is never read destroys the group too.
    std::shared_ptr<group> last(which);
    (void)home->send([last = std::move(last)]() mutable { last.reset(); });
}

}  // namespace detail

report detail::aborted(tutti::rank me, std::string_view reason) {
    report why;
    why.code = error::aborted;
    why.root = me;
    why.peers = {me};
    why.cause = fmt::format("rank {} aborted: {}", me, reason);
    return why;
}

communicator::communicator(std::unique_ptr<detail::group, detail::group_deleter> formed) : group_(std::move(formed)) {}
communicator::~communicator() = default;

int communicator::rank() const noexcept { return group_->who().me; }
int communicator::size() const noexcept { return group_->size(); }
int communicator::hosts() const noexcept { return group_->who().hosts.count(); }
const std::string& communicator::name() const noexcept { return group_->who().name; }
void detail::arena_deleter::operator()(std::byte* memory) const noexcept { from->free(memory, bytes); }

detail::arena_memory communicator::allocate_bytes(std::size_t count, std::size_t element_bytes) {
    if (count > std::numeric_limits<std::size_t>::max() / 2 / element_bytes) throw std::bad_alloc();
    if (!group_->made().here()) throw group_->foreign();
    return group_->home().allocate(count * element_bytes);
}

void communicator::check_spin() const {
    if (!group_->made().here()) throw group_->foreign();
    if (detail::waits_for_itself(group_->home().loop()))
        throw failure(error::invalid_argument, fmt::format("rank {} of {} called spin on the loop that makes the progress; co_await there", rank(), name()));
}

void communicator::spin_until(const detail::state_reference& end) const {
    detail::check_awaitable(end);
    detail::spin_until(group_->home().loop(), *end.get());
}

std::string communicator::route(tutti::rank peer) const { return group_->engine().route(peer); }

namespace {

request make(collective kind, const_buffer shape, const void* input, void* output, call_options options) {
    request what;
    what.kind = kind;
    what.type = shape.type;
    what.opaque_bytes = shape.type == data_type::opaque ? shape.opaque_bytes : 0;
    what.count = shape.count;
    what.input = input;
    what.output = output;
    what.deadline = options.deadline;
    what.label = options.label;
    what.allocated = options.allocated;
    what.keep = options.keep;
    return what;
}

/// A call that cannot be right fails the communicator, because the other ranks wait for it.
void refuse(detail::group& group, std::string_view what, error code, std::string_view problem) {
    const rank me = group.who().me;
    report why;
    why.code = code;
    why.root = me;
    why.peers = {me};
    why.cause = fmt::format("rank {} called {}{}", me, what, problem);
    group.engine().fail_and_tell(std::move(why));
}

/// Issues `what`, or keeps it for later.
future<> issue(detail::group& group, request& what, const call_options& options, complaint wrong) {
    if (!group.made().here()) return detail::failed_future(group.foreign());
    if (options.place) wrong = first_of(std::move(wrong), detail::take_place(group.engine(), *options.place, what));
    // Of an operator of the library that is defined for the type neither check_op nor check_defined complains.
    if (wrong || what.op.user() || !defined(what.op.kind(), what.type) || what.deadline < duration{}) {
        if (!wrong) wrong = first_of(detail::check_op(what), detail::check_deadline(what.deadline));
        const auto call = [&] { return to_string(describe(what)); };
        if (wrong) refuse(group, call(), error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
        else if (const complaint unsupported = detail::check_defined(what)) refuse(group, call(), error::unsupported, ": " + *unsupported);
    }
    const duration deadline = group.home().options().operation;
    if (!wrong && !what.keep && detail::checks(group)) return detail::checked(group, what, deadline);
    if (!what.keep) return future<>(group.engine().issue(what, deadline));
    if (what.keep->valid()) throw failure(error::invalid_argument, "a persistent call has called communicators more than once");
    *what.keep = persistent(*group.engine().keep(what, deadline).release());
    return {};
}

/// No elements, of a type that the operator has: what an empty list is made of.
const_buffer nothing_for(const reduction& op) noexcept {
    const_buffer none;
    if (const detail::user_op* own = op.user()) {
        none.type = own->type();
        none.opaque_bytes = own->type() == data_type::opaque ? own->element_bytes() : 0;
    } else if (!defined(op.kind(), none.type)) {
        none.type = data_type::u8;
    }
    return none;
}

}  // namespace

future<> communicator::all_reduce(buffer data, reduction op, call_options options) { return all_reduce(data, data, op, options); }

future<> communicator::all_reduce(const_buffer from, buffer to, reduction op, call_options options) {
    request what = make(collective::all_reduce, from, from.data, to.data, options);
    what.op = op;
    return issue(*group_, what, options, check_operands(from, to));
}

future<> communicator::all_reduce(std::span<const buffer> list, reduction op, call_options options) {
    request what = make(collective::all_reduce, list.empty() ? nothing_for(op) : const_buffer(list.front()), nullptr, nullptr, options);
    what.count = 0;
    what.op = op;
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    complaint wrong = group_->lists()(list, what.count);
    what.list = list;
    what.digest = digest_of_list(list);
    return issue(*group_, what, options, std::move(wrong));
}

future<> communicator::broadcast(buffer data, tutti::rank root, call_options options) {
    request what = make(collective::broadcast, data, nullptr, data.data, options);
    what.root = root;
    return issue(*group_, what, options, first_of(check_rank("root", root, size()), check_memory("buffer", data), check_total(data, data.count, 1)));
}

future<> communicator::reduce(buffer data, reduction op, tutti::rank root, call_options options) {
    return reduce(data, rank() == root ? data : buffer(), op, root, options);
}

future<> communicator::reduce(const_buffer from, buffer to, reduction op, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::reduce, from, from.data, here ? to.data : nullptr, options);
    what.op = op;
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_memory("input", from), check_total(from, from.count, 1));
    if (here && !wrong)
        wrong = first_of(check_same_type(from, to), check_count("output", to.count, from.count), check_memory("output", to),
                         check_overlap(from, to, to.data == from.data ? to.data : nullptr));
    return issue(*group_, what, options, wrong);
}

future<> communicator::all_gather(const_buffer from, buffer to, call_options options) {
    request what = make(collective::all_gather, from, from.data, to.data, options);
    complaint wrong =
        first_of(check_total(from, from.count, size()), check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    const auto ranks = static_cast<std::size_t>(size());
    if (!wrong) wrong = first_of(check_count("output", to.count, from.count * ranks));
    if (!wrong) {
        const auto* mine = static_cast<const std::byte*>(to.data) + from.bytes() * static_cast<std::size_t>(rank());
        wrong = check_overlap(from, to, from.data == mine ? mine : nullptr);
    }
    return issue(*group_, what, options, wrong);
}

future<> communicator::reduce_scatter(const_buffer from, buffer to, reduction op, call_options options) {
    request what = make(collective::reduce_scatter, to, from.data, to.data, options);
    what.op = op;
    complaint wrong =
        first_of(check_total(to, to.count, size()), check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    if (!wrong) wrong = check_count("input", from.count, to.count * static_cast<std::size_t>(size()));
    if (!wrong) {
        const auto* mine = static_cast<const std::byte*>(from.data) + const_buffer(to).bytes() * static_cast<std::size_t>(rank());
        wrong = check_overlap(from, to, to.data == mine ? mine : nullptr);
    }
    return issue(*group_, what, options, wrong);
}

future<> communicator::all_to_all(const_buffer from, buffer to, call_options options) {
    request what = make(collective::all_to_all, from, from.data, to.data, options);
    what.count = from.count / static_cast<std::size_t>(size());
    complaint wrong = first_of(check_total(from, what.count, size()), check_same_type(from, to), check_memory("input", from),
                               check_memory("output", to), check_count("output", to.count, from.count), check_overlap(from, to, nullptr));
    if (!wrong && from.count % static_cast<std::size_t>(size()) != 0)
        wrong = fmt::format("the input has {} elements, a multiple of {} is expected", from.count, size());
    return issue(*group_, what, options, wrong);
}

// ---- gather and scatter, prefixes, and a count for each rank

namespace {

const void* element_of(const_buffer memory, std::size_t index) noexcept {
    return static_cast<const std::byte*>(memory.data) + index * memory.element_bytes();
}

/// Of so many elements of `to`, those after the first `before` come from `from`, which may be them.
complaint check_collected(const_buffer from, const_buffer to, std::size_t count, std::size_t before) {
    complaint wrong = first_of(check_same_type(from, to), check_memory("output", to), check_count("output", to.count, count));
    if (wrong) return wrong;
    const void* mine = element_of(to, before);
    return check_overlap(from, to, from.data == mine ? mine : nullptr);
}

/// Of so many elements of `from`, those after the first `before` go to `to`, which may be them.
complaint check_spread(const_buffer from, const_buffer to, std::size_t count, std::size_t before) {
    complaint wrong = first_of(check_same_type(from, to), check_memory("input", from), check_count("input", from.count, count));
    if (wrong) return wrong;
    const void* mine = element_of(from, before);
    return check_overlap(from, to, to.data == mine ? mine : nullptr);
}

std::size_t sum_of(std::span<const std::size_t> counts) noexcept { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

/// With the counts of all ranks: how many elements there are in all, before this rank's, and this rank's.
struct share {
    std::size_t all = 0;
    std::size_t before = 0;
    std::size_t mine = 0;
};

/// Puts the counts, if nothing is wrong with them, into the request.
complaint take_counts(std::span<const std::size_t> counts, const_buffer shape, rank me, int size, request& what, share& parts) {
    complaint wrong = check_counts("counts", counts, size, shape);
    if (wrong) return wrong;
    const auto place = static_cast<std::size_t>(me);
    parts = {sum_of(counts), sum_of(counts.first(place)), counts[place]};
    what.counts = counts;
    what.count = parts.all;
    return {};
}

}  // namespace

future<> communicator::gather(const_buffer from, buffer to, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::gather, from, from.data, here ? to.data : nullptr, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_total(from, from.count, size()), check_memory("input", from));
    if (here && !wrong)
        wrong = check_collected(from, to, from.count * static_cast<std::size_t>(size()), from.count * static_cast<std::size_t>(root));
    return issue(*group_, what, options, wrong);
}

future<> communicator::scatter(const_buffer from, buffer to, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::scatter, to, here ? from.data : nullptr, to.data, options);
    what.root = root;
    complaint wrong = first_of(check_rank("root", root, size()), check_total(to, to.count, size()), check_memory("output", to));
    if (here && !wrong)
        wrong = check_spread(from, to, to.count * static_cast<std::size_t>(size()), to.count * static_cast<std::size_t>(root));
    return issue(*group_, what, options, wrong);
}

static future<> issue_prefix(detail::group& group, collective kind, const_buffer from, buffer to, reduction op, call_options options) {
    request what = make(kind, from, from.data, to.data, options);
    what.op = op;
    const complaint wrong = check_operands(from, to);
    if (!wrong && op.kind() == reduce_op::avg)
        refuse(group, to_string(describe(what)), error::unsupported, ": there is no avg of the ranks up to this one");
    return issue(group, what, options, wrong);
}

future<> communicator::scan(buffer data, reduction op, call_options options) { return scan(data, data, op, options); }

future<> communicator::scan(const_buffer from, buffer to, reduction op, call_options options) {
    return issue_prefix(*group_, collective::scan, from, to, op, options);
}

future<> communicator::exclusive_scan(buffer data, reduction op, call_options options) { return exclusive_scan(data, data, op, options); }

future<> communicator::exclusive_scan(const_buffer from, buffer to, reduction op, call_options options) {
    return issue_prefix(*group_, collective::exclusive_scan, from, to, op, options);
}

future<> communicator::all_gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, call_options options) {
    request what = make(collective::all_gather_v, from, from.data, to.data, options);
    share parts;
    complaint wrong = first_of(take_counts(counts, from, rank(), size(), what, parts), check_memory("input", from));
    if (!wrong) wrong = first_of(check_count("input", from.count, parts.mine), check_collected(from, to, parts.all, parts.before));
    return issue(*group_, what, options, wrong);
}

future<> communicator::reduce_scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, reduction op,
                                        call_options options) {
    request what = make(collective::reduce_scatter_v, to, from.data, to.data, options);
    what.op = op;
    share parts;
    complaint wrong = first_of(take_counts(counts, to, rank(), size(), what, parts), check_memory("output", to));
    if (!wrong) wrong = first_of(check_count("output", to.count, parts.mine), check_spread(from, to, parts.all, parts.before));
    return issue(*group_, what, options, wrong);
}

future<> communicator::gather_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root, call_options options) {
    const bool here = rank() == root;
    request what = make(collective::gather_v, from, from.data, here ? to.data : nullptr, options);
    what.root = root;
    share parts;
    complaint wrong =
        first_of(check_rank("root", root, size()), take_counts(counts, from, rank(), size(), what, parts), check_memory("input", from));
    if (!wrong) wrong = check_count("input", from.count, parts.mine);
    if (here && !wrong) wrong = check_collected(from, to, parts.all, parts.before);
    return issue(*group_, what, options, wrong);
}

future<> communicator::scatter_v(const_buffer from, buffer to, std::span<const std::size_t> counts, tutti::rank root,
                                 call_options options) {
    const bool here = rank() == root;
    request what = make(collective::scatter_v, to, here ? from.data : nullptr, to.data, options);
    what.root = root;
    share parts;
    complaint wrong =
        first_of(check_rank("root", root, size()), take_counts(counts, to, rank(), size(), what, parts), check_memory("output", to));
    if (!wrong) wrong = check_count("output", to.count, parts.mine);
    if (here && !wrong) wrong = check_spread(from, to, parts.all, parts.before);
    return issue(*group_, what, options, wrong);
}

future<> communicator::all_to_all_v(const_buffer from, buffer to, std::span<const std::size_t> send_counts,
                                    std::span<const std::size_t> recv_counts, call_options options) {
    request what = make(collective::all_to_all_v, from, from.data, to.data, options);
    what.count = 0;  // other ranks have other counts
    what.counts = send_counts;
    what.recv_counts = recv_counts;
    complaint wrong =
        first_of(check_counts("send counts", send_counts, size(), from), check_counts("recv counts", recv_counts, size(), to),
                 check_same_type(from, to), check_memory("input", from), check_memory("output", to));
    if (!wrong) {
        const auto me = static_cast<std::size_t>(rank());
        wrong = first_of(check_count("input", from.count, sum_of(send_counts)), check_count("output", to.count, sum_of(recv_counts)),
                         check_overlap(from, to, nullptr));
        if (!wrong && send_counts[me] != recv_counts[me])
            wrong = fmt::format("rank {} sends {} elements to itself and receives {}", rank(), send_counts[me], recv_counts[me]);
    }
    return issue(*group_, what, options, wrong);
}

future<> communicator::monitored_barrier(call_options options) {
    if (options.keep)
        throw failure(error::invalid_argument, "a persistent call is that of a collective in their order, not monitored_barrier");
    if (options.place) throw failure(error::invalid_argument, "a reserved place is for a collective in their order, not monitored_barrier");
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    if (const complaint wrong = detail::check_deadline(options.deadline))
        refuse(*group_, "monitored_barrier", error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
    return group_->enter(options);
}

future<> communicator::barrier(call_options options) {
    request what = make(collective::barrier, const_buffer(), nullptr, nullptr, options);
    return issue(*group_, what, options, {});
}

void communicator::abort(std::string reason) {
    group_->engine().fail_and_tell(detail::aborted(rank(), reason));
}

future<> communicator::watch() { return group_->watch(); }

static task<> close_group(detail::group& which, duration within) { co_await which.start_close(within); }

task<> communicator::close(duration within) { return detail::at_home(group_->home().loop(), close_group(*group_, within)); }

}  // namespace tutti
