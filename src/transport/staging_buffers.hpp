// Memory of a shared-memory link that a lane lends in place of payloads whose own memory cannot be lent. The peer reads them there, and may
// write its answer there.
#pragma once

#include "transport/frame.hpp"

#include <tutti/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tutti {

/// Keeps count of one direction's buffers for its lane, which uses it with the guard held. The buffer that was freed last is taken first:
/// it is still in the caches.
class staging_buffers final {
public:
    static constexpr std::size_t buffer_bytes = 128 * KiB;  // four of them, most_references, hold a slice of 512 KiB
    static constexpr std::size_t buffer_count = 8;          // two such slices
    static constexpr std::size_t all_bytes = buffer_count * buffer_bytes;
    static constexpr std::size_t longest_payload = most_references * buffer_bytes;

    /// A payload in staging buffers. It stays until frame `index` of its operation brings the answer; without an index, until the peer has
    /// given it back.
    struct staged_payload {
        std::uint64_t sequence = 0;
        std::optional<std::uint32_t> index;
        std::uint64_t number = 0;  // of its frame among those that lend, from 1; 0: not sent
        std::size_t bytes = 0;
        std::size_t count = 0;
        std::array<std::span<std::byte>, most_references> parts;
        std::array<std::uint8_t, most_references> taken{};

        std::span<const std::span<std::byte>> where() const noexcept { return std::span(parts).first(count); }
    };

    explicit staging_buffers(std::span<std::byte> memory) noexcept;

    /// Takes buffers for a payload of `bytes`. Null when there are not enough. Valid until the next call.
    const staged_payload* take(std::uint64_t sequence, std::optional<std::uint32_t> index, std::size_t bytes) noexcept;
    /// The frame of the payload that begins there has been sent, as number `number` of those that lend.
    void sent(const std::byte* begin, std::uint64_t number) noexcept;
    const staged_payload* find(std::uint64_t sequence, std::uint32_t index) const noexcept;
    void free(const staged_payload& what) noexcept;
    /// Returns whether any payload here is not to be answered, so that its buffers come back when the peer has read it.
    bool to_be_returned() const noexcept;
    /// Frees all such payloads whose frames the peer has given back: those up to `number`.
    void free_returned(std::uint64_t number) noexcept;

private:
    std::span<std::byte> memory_;
    std::array<std::uint8_t, buffer_count> free_{};
    std::size_t free_count_ = 0;
    std::array<staged_payload, buffer_count> all_;
    std::size_t staged_ = 0;
};

}  // namespace tutti
