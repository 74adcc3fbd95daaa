// The first bytes on every link: who opens it, for what; and the answer. Both have a fixed length, so nothing remote sizes a buffer.
#pragma once

#include <tutti/types.hpp>

#include "engine/lane_id.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

struct hello {
    std::uint64_t job = 0;    // digest of the job's name
    std::uint64_t group = 0;  // digest of the communicator's name and ancestry
    std::uint32_t epoch = 0;
    rank from = 0;
    rank to = 0;
    int size = 0;
    lane_id lane;

    friend bool operator==(const hello&, const hello&) = default;
};

enum class answer : std::uint8_t {
    welcome = 1,
    crossed,  // the other side has opened the same link: use that one
    refused,  // and why
};

struct reply {
    answer what = answer::welcome;
    std::string why;  // at most 200 bytes travel
};

inline constexpr std::size_t hello_bytes = 64;
inline constexpr std::size_t reply_bytes = 256;

std::array<std::byte, hello_bytes> encode(const hello& what) noexcept;
std::optional<hello> decode_hello(const std::array<std::byte, hello_bytes>& bytes) noexcept;
std::array<std::byte, reply_bytes> encode(const reply& what) noexcept;
std::optional<reply> decode_reply(const std::array<std::byte, reply_bytes>& bytes);

}  // namespace tutti
