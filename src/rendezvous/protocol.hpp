// The bytes between a store's client and its server. A connection begins with the client's mark and hello (job, epoch, rank), which the
// server answers as request 0. Requests and replies follow in any order, by id. Forget and leave have no reply, and behind a leave the
// client ends the connection. Each frame is a 32-bit length and that many bytes.
#pragma once

#include "rendezvous/request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tutti::protocol {

/// Sent once by the client, before its first frame: magic and version.
inline constexpr std::string_view mark = "\x93TUTTI\x02\n";

inline constexpr std::size_t length_bytes = 4;
inline constexpr std::size_t max_job_bytes = 256;
/// The longest frame that the server reads before the client's hello.
inline constexpr std::size_t max_hello_bytes = max_job_bytes + 32;
/// The longest frame: compare_set of the longest key and values.
inline constexpr std::size_t max_frame_bytes = 2 * MiB + 8 * KiB;

struct hello {
    std::string job;
    std::uint32_t epoch = 0;
    rank me = 0;
    int size = 1;
    std::uint64_t ticket = 0;  // of the client, which says hello again if the first answer takes too long

    hello() = default;
};
struct numbered_request {
    std::uint64_t id = 0;
    store_request request;
};
struct numbered_reply {
    std::uint64_t id = 0;
    store_reply reply;
};

/// Writes a frame, with its length in front.
std::string frame(const hello& who);
std::string frame(std::uint64_t id, const store_request& request);
std::string frame(std::uint64_t id, const store_reply& reply);

/// Reads a frame without its length. Returns nothing for bytes that no correct peer sends.
std::optional<hello> parse_hello(std::string_view body);
std::optional<numbered_request> parse_request(std::string_view body);
std::optional<numbered_reply> parse_reply(std::string_view body);

}  // namespace tutti::protocol
