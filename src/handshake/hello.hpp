// The first bytes on every link: the hello of the rank that opens it, and the reply. Both have a fixed length, so no number of a stranger
// sizes a buffer. docs/wire.md has the layout.
#pragma once

#include <tutti/types.hpp>

#include "engine/lane_id.hpp"
#include "transport/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

/// Says which rank opens a link, to which rank, and for which lane of which communicator.
struct hello {
    std::uint64_t job = 0;    // digest of the job's name
    std::uint64_t group = 0;  // digest of the communicator's name and ancestry
    std::uint32_t epoch = 0;
    rank from = 0;
    rank to = 0;
    int size = 0;
    lane_id lane;
    /// In the hello of a multiplexed link, which joins two processes: digest of the address of the one that opens it. Else 0.
    std::uint64_t process = 0;

    friend bool operator==(const hello&, const hello&) = default;
};

enum class answer : std::uint8_t {
    welcome = 1,
    crossed,  // both ranks opened this lane at once: the link of the lower rank counts, so close this one
    refused,  // for the reason in reply::why
    stream,   // the process has few descriptors left: open a stream of a multiplexed link instead
};

struct reply {
    answer what = answer::welcome;
    std::string why;  // cut to 200 bytes on the wire
};

inline constexpr std::size_t hello_bytes = 64;   // 48 in use, the rest zero
inline constexpr std::size_t reply_bytes = 256;  // 7, and the text of a refusal

std::array<std::byte, hello_bytes> encode(const hello& what) noexcept;
/// Returns the version in a hello of another version than this one; nothing for a hello of this one, and for other bytes.
std::optional<int> other_version(const std::array<std::byte, hello_bytes>& bytes) noexcept;

/// Returns nothing for bytes of another version or program. The ranks and the size are not checked here, but in group::answer_hello.
std::optional<hello> decode_hello(const std::array<std::byte, hello_bytes>& bytes) noexcept;
std::array<std::byte, reply_bytes> encode(const reply& what) noexcept;
std::optional<reply> decode_reply(const std::array<std::byte, reply_bytes>& bytes);

}  // namespace tutti
