#include "handshake/hello.hpp"

#include "base/bytes.hpp"

namespace tutti {
namespace {

constexpr std::uint32_t hello_magic = 0x48545554;  // "TUTH"
constexpr std::uint32_t reply_magic = 0x52545554;  // "TUTR"

}  // namespace

std::array<std::byte, hello_bytes> encode(const hello& what) noexcept {
    std::array<std::byte, hello_bytes> bytes{};
    byte_writer out(bytes);
    out.put(hello_magic);
    out.put(std::uint16_t{wire_version});
    out.put(static_cast<std::uint8_t>(what.lane.kind));
    out.put(static_cast<std::uint8_t>(what.lane.index));
    out.put(what.job);
    out.put(what.group);
    out.put(what.epoch);
    out.put(what.from);
    out.put(what.to);
    out.put(what.size);
    out.put(what.process);
    return bytes;
}

std::optional<int> other_version(const std::array<std::byte, hello_bytes>& bytes) noexcept {
    byte_reader in(bytes);
    if (in.take<std::uint32_t>() != hello_magic) return std::nullopt;
    const int version = in.take<std::uint16_t>();
    return version == wire_version ? std::nullopt : std::optional(version);
}

std::optional<hello> decode_hello(const std::array<std::byte, hello_bytes>& bytes) noexcept {
    byte_reader in(bytes);
    if (in.take<std::uint32_t>() != hello_magic || in.take<std::uint16_t>() != wire_version) return std::nullopt;
    hello what;
    const auto kind = in.take<std::uint8_t>(), index = in.take<std::uint8_t>();
    if (kind >= lane_kinds) return std::nullopt;
    what.lane = {static_cast<lane_kind>(kind), index};
    if (index >= lanes_of(what.lane.kind, most_lanes)) return std::nullopt;
    what.job = in.take<std::uint64_t>();
    what.group = in.take<std::uint64_t>();
    what.epoch = in.take<std::uint32_t>();
    what.from = in.take<rank>();
    what.to = in.take<rank>();
    what.size = in.take<int>();
    what.process = in.take<std::uint64_t>();
    return what;
}

std::array<std::byte, reply_bytes> encode(const reply& what) noexcept {
    std::array<std::byte, reply_bytes> bytes{};
    byte_writer out(bytes);
    out.put(reply_magic);
    out.put(static_cast<std::uint8_t>(what.what));
    out.put_text(what.why, 200);
    return bytes;
}

std::optional<reply> decode_reply(const std::array<std::byte, reply_bytes>& bytes) {
    byte_reader in(bytes);
    if (in.take<std::uint32_t>() != reply_magic) return std::nullopt;
    const auto what = in.take<std::uint8_t>();
    if (what < 1 || what > 4) return std::nullopt;
    const std::string_view why = in.take_text();
    if (in.failed()) return std::nullopt;
    return reply{static_cast<answer>(what), std::string(why)};
}

}  // namespace tutti
