// The abilities beyond a byte stream of a link between processes that share memory. It carries frames in cells, shows the bytes of longer
// payloads where they lie, and lends memory instead of copying it.
#pragma once

#include <tutti/transport.hpp>

#include "transport/cell_ring.hpp"
#include "transport/frame.hpp"
#include "transport/reference.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tutti {

/// Called by the lane that owns the link, on its loop and under the rules of `link`, unless said otherwise. A reference that a peer has
/// written is checked before memory is touched.
class [[gnu::visibility("hidden")]] near_link {
public:
    // Cells. The bytes of the stream are those of payloads that are neither in a cell nor lent, in the order of their cells.

    /// Sends a frame's cell; `behind` is what stands behind the header in it, as cell_sender says. Returns false when no cell is free, or
    /// when there is `trouble`.
    virtual bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept = 0;
    virtual bool take_cell(frame& head, cell_contents& behind) noexcept = 0;
    /// As when_readable, for a cell. One of the two at a time.
    virtual void when_cell(detail::runnable& work) noexcept = 0;
    /// Ends the wait of when_cell or when_readable without calling its work, if a cell, or bytes, are there. Returns whether it did.
    virtual bool end_wait() noexcept = 0;

    /// Shows the bytes that would be received next, where they lie, until `skip`. Returns what try_recv would when there are none.
    virtual moved peek(std::span<const std::byte>& run) noexcept = 0;
    virtual void skip(std::size_t bytes) noexcept = 0;
    /// As try_recv, into memory that no step reads soon.
    virtual moved recv_past_caches(std::span<const std::span<std::byte>> parts) noexcept = 0;

    // Lending, the sender's side: lent memory stays as it is until the peer has given it back, in order.

    /// Returns whether this rank has a core of its own, as far as its last yield tells. Then lines that the peer has read stay in the
    /// peer's cache and are slow to write here.
    virtual bool undisturbed() const noexcept = 0;
    /// Returns memory of the link itself that only this side lends; the same as long as the link is open. Pages count once they are used.
    virtual std::span<std::byte> spare() noexcept = 0;
    /// Returns a reference to `run`; none for memory that the peer cannot read.
    virtual std::optional<reference> locate(std::span<const std::byte> run) noexcept = 0;
    /// Returns how many frames the peer has given back since the beginning.
    virtual std::uint64_t returned() noexcept = 0;
    /// Posts `work` once, when that number differs from `seen`, or the link has ended. One at a time.
    virtual void when_returned(std::uint64_t seen, detail::runnable& work) noexcept = 0;

    // Lending, the receiver's side, and the end of both.

    /// Returns the peer's memory that `what` names; empty when there is none. Written only if it is lent for that, and between
    /// begin_writing and end_writing.
    virtual std::span<std::byte> borrow(reference what) noexcept = 0;
    /// Returns why nothing new comes any more: the peer has gone, or this process could not take what the peer shared.
    virtual std::error_code trouble() const noexcept = 0;
    virtual void give_back() noexcept = 0;
    /// Returns false when the peer has revoked its memory. Otherwise a peer that revokes it waits for end_writing.
    virtual bool begin_writing() noexcept = 0;
    virtual void end_writing() noexcept = 0;
    /// Writes `what` into the peer's memory at `where`, which it lent for that. Returns false, and has written nothing, when that is
    /// revoked, is none of its memory, or has another length.
    virtual bool write_back(std::span<const reference> where, std::span<const std::span<const std::byte>> what) noexcept = 0;
    /// Takes back all memory that this side has lent: the peer may neither use it nor write to it any more. Waits while the peer is
    /// writing. Any thread that keeps the link from being closed.
    virtual void revoke() noexcept = 0;
    /// Returns whether the peer has revoked its memory. Asked after lent memory has been read.
    virtual bool revoked() const noexcept = 0;

protected:
    ~near_link() = default;
};

}  // namespace tutti
