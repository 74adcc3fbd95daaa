// One direction of a link in shared memory: a ring of bytes and a ring of cells, with one sender and one receiver, in two processes. It never
// waits. A side that wants to sleep says so in the ring, and the side that moves the position it waits for wakes it.
#pragma once

#include <tutti/transport.hpp>
#include <tutti/types.hpp>

#include "transport/cell_ring.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// Small enough to stay in a core's cache together with what is copied, large enough for a slice.
inline constexpr std::size_t ring_bytes = 512 * KiB;
/// A receiver publishes its position in such steps: small frames then cost no line that both sides write and read.
inline constexpr std::size_t untold_bytes = 32 * KiB;
/// An empty ring whose sender is so far into it starts anew at its beginning, which the caches still hold: they are shared by many rings.
inline constexpr std::size_t rewound_from = 128 * KiB;

/// Variables that different sides write are on different cache lines, but for wishes to be woken: the side that sleeps sets one, and either
/// side takes it back. Positions count bytes from the beginning and never stop. Positions and wishes are sequentially consistent: either
/// the mover sees the wish, or the sleeper, which looks again after it wished, sees the move. (To take a wish back needs no order: a
/// wake-up too many does no harm.)
struct ring_state {
    alignas(64) std::atomic<std::uint64_t> sent{0};      // by the sender
    std::atomic<std::uint64_t> origin{0};                // by the sender, before `sent`: the position that lies where the bytes begin
    alignas(64) std::atomic<std::uint64_t> received{0};  // by the receiver
    alignas(64) std::atomic<std::uint32_t> receiver_sleeps{0};
    alignas(64) std::atomic<std::uint32_t> sender_sleeps{0};  // 1: until there is room in the ring; 2: until a cell is free
    alignas(64) std::atomic<std::uint64_t> returned{0};  // by the receiver: how many references it has given back
    alignas(64) std::atomic<std::uint32_t> lender_sleeps{0};
    std::atomic<std::uint32_t> revoked{0};              // by the sender: memory that it has lent must not be used any more
    alignas(64) std::atomic<std::uint32_t> writing{0};  // by the receiver: it writes into lent memory
    cell_ring cells;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

struct ring {
    ring_state* state = nullptr;
    std::byte* bytes = nullptr;  // ring_bytes of them
};

/// The sender's side; the receiver's is below. Each belongs to one end of the link and is used on its loop. Positions that the peer has
/// written are checked before use: an impossible one is error::protocol_error, for good.
class ring_sender {
public:
    explicit ring_sender(ring over) noexcept : over_(over), cells_(over.state->cells) {}

    /// Copies in as much as there is room for. A part that does not fit is split at a multiple of 64 bytes, so no element is split. The
    /// receiver may take the first bytes while the last are being copied.
    moved send(std::span<const std::span<const std::byte>> parts) noexcept;
    /// As cell_sender says.
    bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept {
        lacks_cell_ = !cells_.send(head, behind);
        return !lacks_cell_;
    }
    /// Returns the wish of a sender that sleeps now.
    std::uint32_t wish() const noexcept { return lacks_cell_ ? 2 : 1; }
    /// Returns whether what lacked room can be sent: a cell is free, or a quarter of the ring, so that a send is worth the trouble; true,
    /// too, when the ring is broken.
    bool ready() noexcept;
    /// Returns whether the receiver has published what cannot be.
    bool broken() const noexcept { return broken_ || cells_.broken(); }
    /// Returns whether the receiver sleeps and must be woken. Takes its wish back.
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
    bool lacks_cell_ = false;     // the last that was sent, a cell, had no room
    bool broken_ = false;
};

class ring_receiver {
public:
    explicit ring_receiver(ring over) noexcept : over_(over), cells_(over.state->cells) {}

    /// Sets whether lines that have been read are written once, so that they move to the sender quickly; see take_over.
    void keep_pace(bool so) noexcept { keeps_pace_ = so; }
    /// Copies out as much as has come and fits into `parts`; `past_caches`: to memory that no step reads soon.
    moved recv(std::span<const std::span<std::byte>> parts, bool past_caches = false) noexcept;
    /// Shows the same bytes where they lie, up to the end of the ring.
    moved peek(std::span<const std::byte>& run) noexcept;
    /// Moves past bytes that `peek` has shown.
    void skip(std::size_t bytes) noexcept;
    /// As cell_receiver says.
    bool take_cell(frame& head, cell_contents& behind) noexcept { return cells_.take(head, behind); }
    bool has_cell() const noexcept { return cells_.ready(); }
    /// Returns whether bytes have come, or never will.
    bool ready() noexcept { return waiting() > 0 || broken_; }
    /// Returns whether the sender sleeps for room in the ring, and enough is free to wake it. Takes its wish back.
    bool must_wake() noexcept;
    /// The same for a free cell, after one has been taken.
    bool must_wake_for_cells() noexcept {
        return cells_.has_published() && over_.state->sender_sleeps.load() == 2 && over_.state->sender_sleeps.exchange(0) != 0;
    }

private:
    std::size_t waiting() noexcept;
    std::size_t position() const noexcept { return static_cast<std::size_t>((received_ - origin_) % ring_bytes); }
    void advance(std::size_t bytes) noexcept;

    ring over_;
    cell_receiver cells_;
    std::uint64_t origin_ = 0;
    std::uint64_t sent_ = 0;  // as last seen
    std::uint64_t received_ = 0;
    std::uint64_t told_ = 0;  // the position that the sender can see
    bool broken_ = false;
    bool keeps_pace_ = false;
};

}  // namespace tutti
