#include <tutti/detail/bound_task.hpp>
#include <tutti/persistent.hpp>

#include "communicator/call.hpp"
#include "communicator/checking.hpp"
#include "engine/repeated_call.hpp"
#include "engine/reserved_places.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "runtime/progress_ticket.hpp"
#include "transport/arena.hpp"

#include <fmt/format.h>

#include <limits>
#include <new>

namespace tutti {

using detail::check_count;
using detail::check_memory;
using detail::check_operands;
using detail::check_overlap;
using detail::check_rank;
using detail::check_same_type;
using detail::check_total;
using detail::complaint;
using detail::first_of;
using detail::issue;
using detail::make;
using detail::refuse;

namespace detail {

/// Destroys the group on its loop. drop() comes first, so that the engine touches no memory of the user once the communicator is destroyed.
void group_deleter::operator()(group* which) const noexcept {
    if (!which->made().here()) {
        leave_alone(std::unique_ptr<group>(which));
        return;
    }
    const auto context = which->shared_context();
    which->engine().drop();
    // A letter that the loop never reads destroys the group with itself.
    std::shared_ptr<group> last(which);
    (void)context->send([last = std::move(last)]() mutable { last.reset(); });
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
    return group_->context().allocate(count * element_bytes);
}

void communicator::check_spin() const {
    if (!group_->made().here()) throw group_->foreign();
    if (detail::waits_for_itself(group_->context().loop()))
        throw failure(error::invalid_argument, fmt::format("rank {} of {} called spin on the loop that makes the progress; co_await there", rank(), name()));
}

void communicator::spin_until(const detail::state_reference& end) const {
    detail::check_awaitable(end);
    detail::spin_until(group_->context().loop(), *end.get());
}

std::string communicator::route(tutti::rank peer) const { return group_->engine().route(peer); }

request detail::make(collective kind, const_buffer shape, const void* input, void* output, const call_options& options) {
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
    what.reserved = options.place;
    return what;
}

void detail::refuse(detail::group& group, std::string_view what, error code, std::string_view problem) {
    const rank me = group.who().me;
    report why;
    why.code = code;
    why.root = me;
    why.peers = {me};
    why.cause = fmt::format("rank {} called {}{}", me, what, problem);
    group.engine().fail_and_tell(std::move(why));
}

future<> detail::issue(detail::group& group, const request& what, complaint wrong) {
    if (!group.made().here()) return detail::failed_future(group.foreign());
    std::uint64_t place = 0;
    if (what.reserved) wrong = first_of(std::move(wrong), detail::take_place(group.engine(), what, place));
    // The usual call, with an operator of the library that its type has, needs neither check_op nor check_defined.
    if (wrong || what.op.user() || !defined(what.op.kind(), what.type) || what.deadline < duration{}) {
        if (!wrong) wrong = first_of(detail::check_op(what), detail::check_deadline(what.deadline));
        const auto call = [&] { return to_string(describe(what)); };
        if (wrong) refuse(group, call(), error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
        else if (const complaint unsupported = detail::check_defined(what)) refuse(group, call(), error::unsupported, ": " + *unsupported);
    }
    const duration deadline = group.context().options().operation;
    if (!what.keep) {
        future<> made = !wrong && detail::checks(group) ? detail::checked(group, what, deadline, place)
                                                        : future<>(group.engine().issue(what, deadline, place));
        if (place != 0) what.reserved->inner()->used();
        return made;
    }
    if (what.keep->valid()) throw failure(error::invalid_argument, "a persistent call has called communicators more than once");
    *what.keep = persistent(*group.engine().keep(what, deadline).release());
    return {};
}

namespace {

/// Returns an empty buffer of a type that the operator has, for the request of an empty list.
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
    return issue(*group_, what, check_operands(from, to));
}

future<> communicator::all_reduce(std::span<const buffer> list, reduction op, call_options options) {
    request what = make(collective::all_reduce, list.empty() ? nothing_for(op) : const_buffer(list.front()), nullptr, nullptr, options);
    what.count = 0;
    what.op = op;
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    complaint wrong = group_->lists()(list, what.count);
    what.list = list;
    what.digest = digest_of_list(list);
    return issue(*group_, what, std::move(wrong));
}

future<> communicator::broadcast(buffer data, tutti::rank root, call_options options) {
    request what = make(collective::broadcast, data, nullptr, data.data, options);
    what.root = root;
    return issue(*group_, what, first_of(check_rank("root", root, size()), check_memory("buffer", data), check_total(data, data.count, 1)));
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
    return issue(*group_, what, wrong);
}

static future<> issue_prefix(detail::group& group, collective kind, const_buffer from, buffer to, reduction op, call_options options) {
    request what = make(kind, from, from.data, to.data, options);
    what.op = op;
    const complaint wrong = check_operands(from, to);
    if (!wrong && op.kind() == reduce_op::avg)
        refuse(group, to_string(describe(what)), error::unsupported, ": there is no avg of the ranks up to this one");
    return issue(group, what, wrong);
}

future<> communicator::scan(buffer data, reduction op, call_options options) { return scan(data, data, op, options); }

future<> communicator::scan(const_buffer from, buffer to, reduction op, call_options options) {
    return issue_prefix(*group_, collective::scan, from, to, op, options);
}

future<> communicator::exclusive_scan(buffer data, reduction op, call_options options) { return exclusive_scan(data, data, op, options); }

future<> communicator::exclusive_scan(const_buffer from, buffer to, reduction op, call_options options) {
    return issue_prefix(*group_, collective::exclusive_scan, from, to, op, options);
}

future<> communicator::monitored_barrier(call_options options) {
    if (options.keep)
        throw failure(error::invalid_argument, "a persistent call is that of a collective in their order, not monitored_barrier");
    if (options.place) throw failure(error::invalid_argument, "a reserved place is for a collective in their order, not monitored_barrier");
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    if (const complaint wrong = detail::check_deadline(options.deadline))
        refuse(*group_, "monitored_barrier", error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
    return group_->enter_barrier(options.deadline, options.label);
}

future<> communicator::barrier(call_options options) {
    return issue(*group_, make(collective::barrier, const_buffer(), nullptr, nullptr, options), {});
}

void communicator::abort(std::string reason) {
    group_->engine().fail_and_tell(detail::aborted(rank(), reason));
}

future<> communicator::sync() {
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    return detail::checks(*group_) ? detail::checked_sync(*group_) : group_->engine().sync();
}

future<> communicator::watch() { return group_->watch(); }

static task<> close_group(detail::group& which, duration within) { co_await which.start_close(within); }

task<> communicator::close(duration within) { return detail::bind_to_loop(group_->context().loop(), close_group(*group_, within)); }

}  // namespace tutti
