// How a port fails its engine: frames that the plan does not contain, peers that leave, links that end.
#include "engine/port.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

namespace tutti {

/// Decides about a frame whose operation expects nothing here: it is early, or the ranks do not run the same program.
///
///     its operation has begun here with another descriptor           mismatch
///     one lane, and an earlier operation still waits here            mismatch: the peer has left that one out
///     its operation has not begun                                    park
///     else                                                           protocol error: the plan has no such frame
landing port::without_receiver(const frame& head) noexcept {
    recv_channel* front = receivers_.first;
    const bool begun = owner_.has_begun(kind_, head.sequence);
    const descriptor* const mine = begun ? owner_.recent().find(head.sequence) : nullptr;
    if (mine && *mine != head.what) return disagreed(*mine, head);
    if (alone() && front && head.sequence > front->at.of().sequence)
        return refuse(error::mismatch,
                      fmt::format("rank {} called {} (operation #{}), for which rank {} sends nothing: it is at {} #{}", owner_.who().me,
                                  front->at.of().name(), front->at.of().sequence, peer_, to_string(head.what), head.sequence));
    if (!begun) return landing::park;
    return refuse(error::protocol_error, fmt::format("rank {} sent a frame of {} #{} that the plan of rank {} does not contain", peer_,
                                                     to_string(head.what), head.sequence, owner_.who().me));
}

landing port::disagreed(const descriptor& mine, const frame& head) noexcept {
    owner_.disagreed({peer_, head.sequence, mine, head.what});
    return landing::refuse;
}

/// Each rank gives its own counts, and two of them differ.
landing port::miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept {
    const std::size_t element = of.asked.element_bytes();
    return refuse(error::mismatch,
                  fmt::format("rank {} expects {} elements from rank {}, which sends {} (operation #{}, {})", owner_.who().me,
                              bytes / element, peer_, head.payload_bytes / element, head.sequence, of.name()));
}

landing port::refuse(error code, std::string cause) noexcept {
    report why;
    why.code = code;
    why.cause = std::move(cause);
    why.peers = {owner_.who().me, peer_};
    owner_.fail_locked(std::move(why));
    return landing::refuse;
}

/// Returns an operation that waits for the peer, or for a frame that an ended lane was given to send; null if there is none.
const operation* port::missed() const noexcept {
    if (receivers_.first) return &receivers_.first->at.of();
    if (senders_.first) return &senders_.first->at.of();
    for (const auto& each : lanes_) {
        if (!each->lost_link) continue;
        if (given_) return &given_->at.of();
        if (each->outgoing.from) return &each->outgoing.at.of();
    }
    return nullptr;
}

void port::miss() noexcept {
    const operation* const who = missed();
    if (!who) return;
    const operation& of = *who;
    report why;
    why.code = error::peer_left;
    why.cause = fmt::format("rank {} left while rank {} waited for it in {} #{}", peer_, owner_.who().me, of.name(), of.sequence);
    why.peers = {peer_};
    why.root = peer_;
    owner_.fail_locked(std::move(why));
}

void port::lost(port_lane& on, std::error_code why) noexcept {
    if (on.left) {  // the peer has said goodbye, so nothing was to come; but a frame of ours may have been on its way
        if (given_ || on.outgoing.from) miss();
        return;
    }
    owner_.lost(peer_, {kind_, on.index()}, why);
}

}  // namespace tutti
