// How sends, receives and probes begin, and which message goes to which receive: between two ranks, and from a rank to itself.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti {

void messenger::start(message& made) noexcept {
    if (made.asked.what == message_call::kind::send) send(made);
    else if (made.asked.what == message_call::kind::recv) recv(made);
    else if (made.asked.what == message_call::kind::probe) probe(made);
}

void messenger::send(message& made) noexcept {
    if (made.asked.peer == me()) {
        send_here(made);
        return;
    }
    message_port& at = port_to(made.asked.peer);
    if (at.left()) {
        complain_of_leaving(made, at.peer());
        return;
    }
    at.send(made);
    touch(at);
    if (at.attached() || std::exchange(at.wanted, true)) return;
    engine_.want(at.peer(), lane_kind::point);
    post_work();
}

/// Sends to this rank itself. Without a receive, a short message is copied within the same limits as from a peer, and a long one waits in
/// its own memory.
void messenger::send_here(message& made) noexcept {
    const std::size_t bytes = made.asked.bytes();
    received what;
    what.source = me();
    what.tag = made.asked.tag;
    what.count = made.asked.count;
    what.type = made.asked.type;
    what.opaque_bytes = made.asked.opaque_bytes;
    made.number = ++numbered_here_;
    if (message* const receiver = matcher_.claim(me(), what.tag)) {
        if (fits(*receiver, what, made.number)) deliver_here(*receiver, made);
        else end(made);
        return;
    }
    const bool copies = bytes <= limits().eager_bytes && matcher_.kept_bytes(me()) + bytes <= limits().kept_bytes &&
                        matcher_.kept_messages(me()) < limits().kept_messages;
    unexpected& kept = keep(what, made.number, copies ? bytes : 0, matcher_.next_arrival());
    if (!copies) {
        kept.from = &made;
        return;
    }
    kept.landed = true;
    std::copy_n(made.asked.memory, bytes, kept.data.get());
    made.done_bytes = bytes;
    end(made);
}

void messenger::deliver_here(message& receiver, message& sender) noexcept {
    const std::size_t bytes = sender.asked.bytes();
    if (bytes > 0) std::memmove(receiver.asked.memory, sender.asked.memory, bytes);  // they may overlap: both are the caller's
    receiver.done_bytes = sender.done_bytes = bytes;
    end(sender);
    end(receiver);
}

void messenger::recv(message& made) noexcept {
    const rank source = made.asked.peer;
    unexpected* const kept = matcher_.find(source, made.asked.tag);
    if (kept && !kept->landed && gone(kept->what.source))
        complain_of_leaving(made, kept->what.source);  // the sender has left, and will not send the rest
    else if (kept) accept(made, *kept);
    else if (gone(source)) complain_of_leaving(made, source);
    else post(made);
}

void messenger::post(message& receiver) noexcept {
    matcher_.post(receiver);
    if (receiver.asked.peer == any_source) return;
    if (const auto& at = ports_[static_cast<std::size_t>(receiver.asked.peer)]) mark(*at);
}

void messenger::accept(message& receiver, unexpected& kept) noexcept {
    const bool taken = fits(receiver, kept.what, kept.number);
    if (kept.what.source != me()) {
        message_port& at = port_to(kept.what.source);
        at.accept(taken ? &receiver : nullptr, kept);
        touch(at);
        return;
    }
    matcher_.take(kept);
    if (taken && kept.from) {
        deliver_here(receiver, *kept.from);
    } else if (taken) {
        std::copy_n(kept.data.get(), kept.bytes, receiver.asked.memory);
        receiver.done_bytes = kept.bytes;
        end(receiver);
    } else if (kept.from) end(*kept.from);
    matcher_.free(kept);
}

bool messenger::fits(message& receiver, const received& what, std::uint64_t number) noexcept {
    const message_call& asked = receiver.asked;
    const bool alike = asked.type == what.type && asked.opaque_bytes == what.opaque_bytes;
    if (alike && what.count <= asked.count) {
        receiver.what = what;
        receiver.number = number;
        return true;
    }
    message_call sent;
    sent.what = message_call::kind::send;
    sent.type = what.type;
    sent.opaque_bytes = what.opaque_bytes;
    sent.count = what.count;
    sent.peer = me();
    sent.tag = what.tag;
    report why;
    why.code = alike ? error::truncated : error::mismatch;
    why.peers = {me(), what.source};
    why.cause = fmt::format("rank {} called {} where rank {} called {} (message #{}), which does not fit and is thrown away", me(),
                            to_string(asked), what.source, to_string(sent), number);
    fail_alone(receiver, std::move(why));
    return false;
}

unexpected& messenger::keep(const received& what, std::uint64_t number, std::size_t bytes, std::uint64_t arrival) {
    unexpected& kept = matcher_.keep(what, number, bytes, arrival);
    tell_probes(kept);
    return kept;
}

void messenger::tell_probes(const unexpected& kept) noexcept {
    while (message* const each = probes_.claim(kept.what.source, kept.what.tag)) {
        each->what = kept.what;
        each->number = kept.number;
        end(*each);
    }
}

void messenger::find_taker(unexpected& kept) noexcept {
    if (message* const next = matcher_.claim(kept.what.source, kept.what.tag)) accept(*next, kept);
    else tell_probes(kept);
}

void messenger::probe(message& made) noexcept {
    probes_.post(made);
    if (const unexpected* const kept = matcher_.find(made.asked.peer, made.asked.tag)) {
        probes_.withdraw(made);
        made.what = kept->what;
        made.number = kept->number;
        end(made);
    } else if (gone(made.asked.peer)) {
        complain_of_leaving(made, made.asked.peer);
    }
}

}  // namespace tutti
