// Memory of a link in which payloads lie that the other side reads, and in which it answers: where a payload's own memory cannot be lent.
#pragma once

#include "transport/frame.hpp"

#include <tutti/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tutti {

/// What was freed last is taken first, so memory that is used again is still in the caches.
class staging_buffers final {
public:
    static constexpr std::size_t buffer_bytes = 128 * KiB;
    static constexpr std::size_t buffer_count = 8;
    static constexpr std::size_t all_bytes = buffer_count * buffer_bytes;
    static constexpr std::size_t longest_payload = most_references * buffer_bytes;

    /// A payload that lies in staging buffers until the frame comes that answers it, the one of that place of its operation; without one until it has been
    /// given back.
    struct staged_payload {
        std::uint64_t sequence = 0;
        std::optional<std::uint32_t> index;
        std::uint64_t number = 0;  // of its frame among those that lend; 0: not sent
        std::size_t bytes = 0;
        std::size_t count = 0;
        std::array<std::span<std::byte>, most_references> parts;
        std::array<std::uint8_t, most_references> taken{};

        std::span<const std::span<std::byte>> where() const noexcept { return std::span(parts).first(count); }
    };

    explicit staging_buffers(std::span<std::byte> memory) noexcept;

    /// Null when there is not enough room. Valid until the next call.
    const staged_payload* take(std::uint64_t sequence, std::optional<std::uint32_t> index, std::size_t bytes) noexcept;
    /// The frame of what begins there has gone, as number so and so of those that lend.
    void sent(const std::byte* begin, std::uint64_t number) noexcept;
    const staged_payload* find(std::uint64_t sequence, std::uint32_t index) const noexcept;
    void free(const staged_payload& what) noexcept;
    /// Whether anything is there that nobody answers.
    bool to_be_returned() const noexcept;
    /// Frees all of that which has gone in frames up to that number.
    void free_returned(std::uint64_t number) noexcept;
    bool empty() const noexcept { return staged_ == 0; }

private:
    std::span<std::byte> memory_;
    std::array<std::uint8_t, buffer_count> free_{};
    std::size_t free_count_ = 0;
    std::array<staged_payload, buffer_count> all_;
    std::size_t staged_ = 0;
};

}  // namespace tutti
