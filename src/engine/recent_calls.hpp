// The last calls of a rank, and in which words they differ from those of its peers.
#pragma once

#include "base/call_signature.hpp"
#include "engine/label.hpp"

#include <tutti/error.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

/// A place in the order at which a peer has made another call than this rank.
struct differing_call {
    rank peer = -1;
    std::uint64_t sequence = 0;
    call_signature mine;
    call_signature theirs;
};

/// Remembers the last calls of this rank, which a late frame or a neighbour's question may name. Used with the engine's guard held.
class recent_calls {
public:
    explicit recent_calls(rank me) noexcept : me_(me) {}

    /// Remembers a call, unless its slot has one from a later place: reserved places are called late.
    void remember(std::uint64_t sequence, const call_signature& what, const char* label) noexcept {
        call& slot = calls_[sequence % calls_.size()];
        if (slot.sequence > sequence) return;
        slot.sequence = sequence;
        slot.what = what;
        if (what.label != 0) slot.label.set(label);
    }
    /// Returns the call at this place; null if it has not been called, or is forgotten.
    const call_signature* find(std::uint64_t sequence) const noexcept {
        const call* const known = slot_of(sequence);
        return known ? &known->what : nullptr;
    }
    /// Returns its label in words; empty where there is none, or it is forgotten.
    std::string_view label_of(std::uint64_t sequence) const noexcept;

    /// Returns the failure that names both calls. `label` is theirs; empty where it is not known.
    report mismatch(const differing_call& found, std::string_view label) const;
    /// Notes a call that differs in its label only, of which a frame brings no more than the digest. Returns whether the peer is to be asked
    /// for the words: one question is enough, because its answer fails the communicator.
    bool ask_about(const differing_call& found) noexcept {
        if (asked_) return false;
        asked_ = found;
        return true;
    }
    /// Returns the failure for a question that the peer has not answered.
    report unanswered() const { return mismatch(*asked_, {}); }

private:
    struct call {
        std::uint64_t sequence = 0;
        call_signature what;
        label_text label;  // valid if what.label is not 0
    };
    const call* slot_of(std::uint64_t sequence) const noexcept {
        const call& slot = calls_[sequence % calls_.size()];
        return sequence != 0 && slot.sequence == sequence ? &slot : nullptr;
    }

    const rank me_;
    std::array<call, 64> calls_;  // by sequence, modulo their number
    std::optional<differing_call> asked_;
};

}  // namespace tutti
