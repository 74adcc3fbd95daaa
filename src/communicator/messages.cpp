// The calls of a communicator that concern messages.
#include <tutti/communicator.hpp>

#include "communicator/call.hpp"
#include "communicator/checking.hpp"
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "validation/arguments.hpp"

#include <fmt/format.h>

namespace tutti {

using detail::check_deadline;
using detail::check_memory;
using detail::check_rank;
using detail::check_total;
using detail::complaint;
using detail::first_of;

namespace {

message_call with(call_options options, message_call what) {
    if (options.keep) throw failure(error::invalid_argument, "a persistent call is that of a collective, not " + to_string(what));
    if (options.place) throw failure(error::invalid_argument, "a reserved place is for a collective, not " + to_string(what));
    what.deadline = options.deadline;
    what.label = options.label;
    return what;
}

complaint check(const message_call& what, int size) {
    const bool sends = what.what == message_call::kind::send;
    if (sends && what.tag == any_tag) return std::string("any_tag is for receivers");
    const_buffer memory(what.memory, what.count, what.type);
    memory.opaque_bytes = what.opaque_bytes;
    return first_of(!sends && what.peer == any_source ? complaint() : check_rank("peer", what.peer, size), check_memory("buffer", memory),
                    check_total(memory, what.count, 1), check_deadline(what.deadline));
}

/// Fails the communicator because of a wrong call: a peer may wait for it.
void fail_if(detail::group& group, const message_call& what, const complaint& wrong) {
    if (wrong) detail::refuse(group, to_string(what), error::invalid_argument, fmt::format(" with a wrong argument: {}", *wrong));
}

template <class T>
future<T> issue(detail::group& group, const message_call& what, future<T> (*checked)(detail::group&, const message_call&, duration) = nullptr) {
    if (!group.made().here()) return detail::failed_future<T>(group.foreign());
    const complaint wrong = check(what, group.size());
    fail_if(group, what, wrong);
    if (!wrong && checked && detail::checks(group)) return checked(group, what, group.context().options().operation);
    return future<T>(group.engine().messages().issue(what, group.context().options().operation));
}

void check_process(const detail::group& group) {
    if (!group.made().here()) throw group.foreign();
}

}  // namespace

future<> communicator::send(const_buffer data, tutti::rank to, message_tag tag, call_options options) {
    return issue<void>(*group_, with(options, call_of(send_to(data, to, tag))), detail::checked_send);
}

future<received> communicator::recv(buffer data, tutti::rank from, message_tag tag, call_options options) {
    return issue<received>(*group_, with(options, call_of(recv_from(data, from, tag))), detail::checked_recv);
}

std::optional<future<received>> communicator::try_recv(buffer data, tutti::rank from, message_tag tag, call_options options) {
    check_process(*group_);
    const message_call what = with(options, call_of(recv_from(data, from, tag)));
    fail_if(*group_, what, check(what, size()));
    message* const made = group_->engine().messages().try_recv(what, group_->context().options().operation);
    if (!made) return std::nullopt;
    return future<received>(*made);
}

future<received> communicator::probe(tutti::rank from, message_tag tag, call_options options) {
    return issue<received>(*group_, with(options, probe_of(from, tag)));
}

std::optional<received> communicator::try_probe(tutti::rank from, message_tag tag) {
    check_process(*group_);
    const message_call what = probe_of(from, tag);
    fail_if(*group_, what, check(what, size()));
    return group_->engine().messages().try_probe(from, tag).value();
}

future<> communicator::exchange(std::span<const transfer> parts, call_options options) {
    if (!group_->made().here()) return detail::failed_future(group_->foreign());
    const message_call whole = with(options, exchange_of(parts.size()));
    for (const transfer& each : parts) {
        const message_call what = call_of(each);
        fail_if(*group_, what, check(what, size()));
    }
    fail_if(*group_, whole, check_deadline(whole.deadline));
    fail_if(*group_, whole, group_->lists().apart(parts, [](const transfer& each) {
        const const_buffer memory = each.sends ? each.from : const_buffer(each.to);
        return detail::list_check::part{memory.data, memory.bytes(), !each.sends};
    }));
    const duration deadline = group_->context().options().operation;
    if (detail::checks(*group_) && !group_->engine().failed()) return detail::checked_exchange(*group_, parts, whole, deadline);
    return future<>(group_->engine().messages().exchange(parts, whole, deadline));
}

}  // namespace tutti
