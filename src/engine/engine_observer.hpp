// The engine's view of its group: an interface for what concerns other ranks.
#pragma once

#include "base/call_signature.hpp"
#include "engine/lane_id.hpp"

#include <tutti/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

/// The group, which does for the engine what concerns other ranks: it dials, spreads failures, and asks neighbours. Called on the loop,
/// without the guard.
class engine_observer {
public:
    /// All lanes of a kind to `peer` are needed; answered by engine::attach for each.
    virtual void wanted(rank peer, lane_kind kind) noexcept = 0;
    /// The engine has failed, for a reason found here: the other ranks must hear of it. Once.
    virtual void engine_failed(const report& why) noexcept = 0;
    /// A link ended without a goodbye. The observer finds out whether the peer's process died, and answers with engine::fail or
    /// engine::peer_left.
    virtual void link_lost(rank peer, lane_id which, std::error_code why) noexcept = 0;
    /// A collective has been waiting for a while: ask the neighbours. A rank that hears the question calls engine::compare.
    virtual void waits(std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept = 0;
    /// A collective has been waiting for so long that the user should know: `sentence` says for what.
    virtual void stalls(const std::string& sentence) noexcept = 0;
    /// `peer` has another label for the collective, of which only the digest has come. The peer is sent ours, and calls engine::compare.
    virtual void differs(rank peer, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept = 0;

protected:
    ~engine_observer() = default;
};

}  // namespace tutti
