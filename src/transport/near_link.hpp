// What a link between processes that share memory can do beyond bytes: show them where they lie, carry short frames beside them, and lend
// memory of an arena instead of copying it.
#pragma once

#include <tutti/transport.hpp>

#include "transport/frame.hpp"
#include "transport/inline_cells.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace tutti {

/// A part of the sender's arena, or of the link's own memory; or of any memory of its process, by the address there.
struct reference {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    static reference in_process(std::span<const std::byte> run) noexcept {
        return {reinterpret_cast<std::uintptr_t>(run.data()) | of_process, run.size()};
    }
    bool is_of_link() const noexcept { return (offset & of_link) != 0; }
    bool is_in_process() const noexcept { return (offset & (of_link | of_process)) == of_process; }
    std::uint64_t address() const noexcept { return offset & ~of_process; }

    static constexpr std::uint64_t of_link = std::uint64_t{1} << 63;     // of the link's own memory
    static constexpr std::uint64_t of_process = std::uint64_t{1} << 62;  // no address has it
};

/// What stands behind a frame whose payload is lent: the references, and the place of the answer in one more.
constexpr std::size_t reference_bytes(const frame& head) noexcept {
    return (head.references + (head.answered ? 1U : 0U)) * sizeof(reference);
}

/// What stands behind a frame's header: the payload, references to it, or nothing.
constexpr std::size_t behind_bytes(const frame& head) noexcept {
    if (head.in_place) return 0;
    return head.references > 0 ? reference_bytes(head) : static_cast<std::size_t>(head.payload_bytes);
}

/// The bytes of a frame in the stream.
constexpr std::size_t wire_bytes(const frame& head) noexcept { return frame_bytes + behind_bytes(head); }

/// Whether a frame is short enough for an inline cell. What another process has written may be none.
constexpr bool fits_cell(const frame& head) noexcept {
    return behind_bytes(head) <= (head.references > 0 ? cell_payload_bytes - inline_cell::first_bytes : cell_payload_bytes);
}

inline constexpr std::size_t no_single_copy = std::numeric_limits<std::size_t>::max();

/// Empty when it does not lie there.
inline std::span<std::byte> part_of(std::span<std::byte> memory, reference what) noexcept {
    if (what.offset > memory.size() || memory.size() - what.offset < what.bytes) return {};
    return memory.subspan(static_cast<std::size_t>(what.offset), static_cast<std::size_t>(what.bytes));
}

class [[gnu::visibility("hidden")]] near_link {
public:
    /// The bytes that would be received next, where they lie, until `skip`. Like try_recv when there are none.
    virtual moved peek(std::span<const std::byte>& run) noexcept = 0;
    virtual void skip(std::size_t bytes) noexcept = 0;
    /// try_recv into memory that nobody reads soon.
    virtual moved recv_past_caches(std::span<const std::span<std::byte>> parts) noexcept = 0;

    /// Beside the stream, where that is now, between two of its frames; `behind` stands behind the header. False when it does not go as an inline cell.
    virtual bool send_cell(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept = 0;
    /// The inline cell that comes before what the stream brings next. Asked for at any time; between two frames again after `peek` has shown
    /// something, however little, before any of that is taken.
    virtual bool take_cell(frame& head, cell_payload& behind) noexcept = 0;

    /// Ends the wait of `when_readable`, if there is one that may end: its work is not called. Whether there was.
    virtual bool end_wait() noexcept = 0;

    // Lending: the sender of a reference leaves that memory alone until it has been given back. What is lent is given back in order.
    /// Whether each side has a core of its own: what the other reads stays in its cache, and is slow to write here as long as it does.
    virtual bool undisturbed() const noexcept = 0;
    /// Memory of the link itself, to be lent: of this side alone, and the same as long as the link is open. Pages count once they are used.
    virtual std::span<std::byte> spare() noexcept = 0;
    /// None for memory that the other side cannot read.
    virtual std::optional<reference> locate(std::span<const std::byte> run) noexcept = 0;
    /// Transfers of so many bytes, and more, the other side is to copy out of this process, whatever memory they lie in. `no_single_copy` where
    /// nobody wants that, or the system forbids it.
    virtual std::size_t single_copy_from() const noexcept = 0;
    /// How often the other side has given something back, since the beginning.
    virtual std::uint64_t returned() noexcept = 0;
    /// Posts `work` once, when that number is another than `seen`, or the link has ended. One at a time.
    virtual void when_returned(std::uint64_t seen, detail::runnable& work) noexcept = 0;
    /// The memory that the other side refers to; empty when it has none there. To be written where it is lent for that, and only between
    /// begin_writing and end_writing.
    virtual std::span<std::byte> borrow(reference what) noexcept = 0;
    /// Why nothing new comes any more: the other side has gone, or this process could not take what it shared.
    virtual std::error_code trouble() const noexcept = 0;
    /// Copies what references in_process lead to, to runs of as many bytes.
    virtual std::error_code fetch(std::span<const reference> from, std::span<const std::span<std::byte>> into) noexcept = 0;
    virtual void give_back() noexcept = 0;
    /// False when what has been lent is revoked. Otherwise who revokes waits for end_writing.
    virtual bool begin_writing() noexcept = 0;
    virtual void end_writing() noexcept = 0;
    /// Writes `what` into the other side's memory at `where`, which it lent for that. False, and nothing is written, when it has been revoked,
    /// or is none of its memory, or not as long.
    virtual bool write_back(std::span<const reference> where, std::span<const std::span<const std::byte>> what) noexcept = 0;
    /// Any thread that keeps the link from being closed: what has been lent and not been given back is not to be used, nor written to. If the
    /// other side is writing it is waited for.
    virtual void revoke() noexcept = 0;
    /// Asked after lent memory has been read: whether the other side has revoked it.
    virtual bool revoked() const noexcept = 0;

protected:
    ~near_link() = default;
};

}  // namespace tutti
