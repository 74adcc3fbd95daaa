// One direction of a link in shared memory: a ring of bytes with one sender and one receiver, in two processes, and inline cells beside it. It
// never waits; who wants to sleep says so in the ring, and is to be woken by whoever moves the position it waits for.
#pragma once

#include <tutti/transport.hpp>
#include <tutti/types.hpp>

#include "transport/inline_cells.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// Small enough to stay in a core's cache together with what is copied, large enough for a slice.
inline constexpr std::size_t ring_bytes = 512 * KiB;
/// Of less than this that it has read a receiver need not tell the sender: small frames then cost no line that both would write and read.
inline constexpr std::size_t untold_bytes = 32 * KiB;
/// From here on an empty ring is begun again from its beginning, which the caches still hold: many rings go through them then.
inline constexpr std::size_t rewound_from = 128 * KiB;

/// What both sides write, each variable on a cache line of its own. Positions count bytes from the beginning and never stop.
/// Positions and the wishes to be woken are written and read in one order for all (sequentially consistent): either the mover sees the wish,
/// or the sleeper, looking again after it wished, sees the move. (To take a wish back needs no order: one bell more does no harm.)
struct ring_state {
    alignas(64) std::atomic<std::uint64_t> sent{0};      // by the sender
    std::atomic<std::uint64_t> origin{0};                // by the sender, before `sent`: the position that lies where the bytes begin
    alignas(64) std::atomic<std::uint64_t> received{0};  // by the receiver
    alignas(64) std::atomic<std::uint32_t> receiver_sleeps{0};
    alignas(64) std::atomic<std::uint32_t> sender_sleeps{0};
    alignas(64) std::atomic<std::uint64_t> returned{0};  // by the receiver: how many references it has given back
    alignas(64) std::atomic<std::uint32_t> lender_sleeps{0};
    std::atomic<std::uint32_t> revoked{0};              // by the sender: what is lent and not given back is not to be used
    std::atomic<std::uint64_t> proof{0};                // by the sender, before anything is sent: what stands at
    std::atomic<std::uint64_t> proof_at{0};             // this address in its process
    alignas(64) std::atomic<std::uint32_t> fetches{0};  // by the receiver: it has found that there, and can copy out of that process
    alignas(64) std::atomic<std::uint32_t> writing{0};  // by the receiver: it writes into what has been lent
    cell_ring cells;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

struct ring {
    ring_state* state = nullptr;
    std::byte* bytes = nullptr;  // ring_bytes of them
};

/// The positions that the other side writes are checked before they are used: an impossible one is error::protocol_error, for good.
class ring_sender {
public:
    explicit ring_sender(ring over) noexcept : over_(over), cells_(over.state->cells) {}

    /// Copies as much as there is room for, as far as it has been told; a part that does not fit is split at a multiple of 64 bytes, so no
    /// element is. The other side may take the first bytes while the last are being copied.
    moved send(std::span<const std::span<const std::byte>> parts) noexcept;
    /// As cell_sender says, behind what was sent before.
    bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept {
        return cells_.send(head, behind, sent_);
    }
    /// Whether it is worth trying: there is room again, for a good part of the ring when it was full.
    bool ready() noexcept;
    /// Whether the receiver is to be woken for what was sent. Takes its wish back.
    bool must_wake() noexcept { return over_.state->receiver_sleeps.load() != 0 && over_.state->receiver_sleeps.exchange(0) != 0; }

private:
    std::size_t room() noexcept;
    std::size_t position() const noexcept { return static_cast<std::size_t>((sent_ - origin_) % ring_bytes); }
    void rewind_if_empty() noexcept;

    ring over_;
    cell_sender cells_;
    std::uint64_t origin_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;  // as last seen
    bool broken_ = false;
};

class ring_receiver {
public:
    explicit ring_receiver(ring over) noexcept : over_(over), cells_(over.state->cells) {}

    /// Whether the memory that has been read shall be taken over for the sender; see take_over.
    void keep_pace(bool so) noexcept { keeps_pace_ = so; }
    /// Copies what has come, as far as there is place for it; `past_caches`: where nobody reads it soon.
    moved recv(std::span<const std::span<std::byte>> parts, bool past_caches = false) noexcept;
    /// The same bytes where they lie, as far as they lie together, and the step beyond them.
    moved peek(std::span<const std::byte>& run) noexcept;
    void skip(std::size_t bytes) noexcept;
    /// As cell_receiver says, where what was received ends.
    bool take_cell(frame& head, cell_payload& behind) noexcept { return cells_.take(head, behind, received_); }
    /// Whether something has come, or never will.
    bool ready() noexcept { return waiting() > 0 || broken_ || cells_.ready(received_); }
    /// Whether the sender is to be woken for the room that was made. Takes its wish back.
    bool must_wake() noexcept;

private:
    std::size_t waiting() noexcept;
    std::size_t position() const noexcept { return static_cast<std::size_t>((received_ - origin_) % ring_bytes); }
    void advance(std::size_t bytes) noexcept;

    ring over_;
    cell_receiver cells_;
    std::uint64_t origin_ = 0;
    std::uint64_t sent_ = 0;  // as last seen
    std::uint64_t received_ = 0;
    std::uint64_t told_ = 0;  // of that, to the sender
    bool broken_ = false;
    bool keeps_pace_ = false;
};

}  // namespace tutti
