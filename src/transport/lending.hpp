// The payloads that a lane lends to a peer with which it shares memory, instead of copying them into the ring.
#pragma once

#include "transport/near_link.hpp"
#include "transport/outgoing.hpp"
#include "transport/staging_buffers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// Chooses the payloads that are lent, keeps their frames until the peer has given them back, and has the staging buffers. One for each
/// near_lane, used as its lane is. Frames are given back in the order in which they went.
class lending {
public:
    /// `may_stage`: the answers come over this lane, too, so that staging buffers can be freed.
    lending(near_link& over, bool may_stage) noexcept : over_(over), may_stage_(may_stage) {}

    /// Chooses how a payload travels. Sets head.references, head.answered and `lends` if it is lent, else leaves them as they are: empty.
    /// Returns false when the frame must wait for staging buffers.
    bool refer(outgoing& what) noexcept;
    /// Returns what travels in place of a lent payload: its references, and one more if an answer is wanted. That one holds the answer's
    /// index and how far beyond the payload the answer belongs; in staging buffers it belongs where the payload lies.
    static std::array<reference, most_references + 1> references_of(const outgoing& what) noexcept;
    /// The frame's cell has gone. Returns whether the frame is kept until the peer has given it back.
    bool keeps(outgoing& what) noexcept;

    /// Returns whether something is to be given back for which a frame waits.
    bool awaits_return() const noexcept { return first_ != nullptr || awaits_staging_; }
    /// Returns whether a frame is kept.
    bool keeps_any() const noexcept { return first_ != nullptr; }
    /// Returns whether a frame waits for staging buffers.
    bool awaits_staging() const noexcept { return awaits_staging_; }
    /// Returns how many frames had been given back when this was last looked at.
    std::uint64_t seen() const noexcept { return returned_; }
    /// Sends kept frames that have been given back.
    void take_returned() noexcept;
    /// Forgets all frames. Their owners may use the memory for something else.
    void forget() noexcept;

    /// Returns the staged payload that this frame answers, if any. Valid until the next call.
    const staging_buffers::staged_payload* answered_by(const frame& head) const noexcept {
        return buffers_ && head.kind == frame_kind::data ? buffers_->find(head.sequence, head.index) : nullptr;
    }
    void free(const staging_buffers::staged_payload& what) noexcept { buffers_->free(what); }

private:
    bool locates_answer(const outgoing& what, std::span<const std::byte> run, reference where) noexcept;
    bool stage(outgoing& what) noexcept;

    near_link& over_;
    const bool may_stage_;
    outgoing* first_ = nullptr;
    outgoing* last_ = nullptr;
    std::uint64_t count_ = 0;     // of frames that have been lent
    std::uint64_t returned_ = 0;  // of these, as last seen
    bool awaits_staging_ = false;
    std::optional<staging_buffers> buffers_;
    std::vector<std::span<const std::byte>> runs_;
};

}  // namespace tutti
