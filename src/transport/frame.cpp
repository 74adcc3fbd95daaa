#include "transport/frame.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace tutti {
namespace {

// The wire, in bytes:   0 magic   4 version   5 label, low   6 kind   7 allocated    8 epoch   12 index   16 sequence   24 slice   28 root
//                      32 payload   38 label, high   40 count  48 digest   56 collective   57 type   58 operator   59 algorithm   60 opaque bytes
constexpr std::uint32_t magic = 0x49545554;  // "TUTI" in memory
constexpr std::uint8_t allocated_bit = 0x20;  // the only bit of byte 7
// No address space is larger, so the upper 16 bits of the length are free for the label.
constexpr int payload_bits = 48;

template <std::unsigned_integral T>
T little_endian(T value) noexcept {
    if constexpr (std::endian::native == std::endian::little) return value;
    T swapped = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) swapped = static_cast<T>(swapped << 8 | (value >> 8 * i & 0xff));
    return swapped;
}

class writer {
public:
    explicit writer(std::byte* to) noexcept : at_(to) {}

    template <std::integral T>
    void put(T value) noexcept {
        const auto bits = little_endian(static_cast<std::make_unsigned_t<T>>(value));
        std::memcpy(at_, &bits, sizeof bits);
        at_ += sizeof bits;
    }

private:
    std::byte* at_;
};

class reader {
public:
    explicit reader(const std::byte* from) noexcept : at_(from) {}

    template <std::integral T>
    void take(T& value) noexcept {
        std::make_unsigned_t<T> bits;
        std::memcpy(&bits, at_, sizeof bits);
        value = static_cast<T>(little_endian(bits));
        at_ += sizeof bits;
    }
    template <std::integral T>
    T take() noexcept {
        T value;
        take(value);
        return value;
    }

private:
    const std::byte* at_;
};

bool known(std::uint8_t kind) noexcept {
    return kind >= static_cast<std::uint8_t>(frame_kind::data) && kind <= static_cast<std::uint8_t>(frame_kind::roll);
}

}  // namespace

frame_header encode(const frame& what) noexcept {
    frame_header bytes;
    writer out{bytes.data()};
    out.put(magic);
    out.put(wire_version);
    out.put(static_cast<std::uint8_t>(what.what.label));
    out.put(static_cast<std::uint8_t>(what.kind));
    out.put(what.what.allocated ? allocated_bit : std::uint8_t{0});
    out.put(what.epoch);
    out.put(what.index);
    out.put(what.sequence);
    out.put(what.slice);
    out.put(what.what.root);
    out.put(what.payload_bytes | static_cast<std::uint64_t>(what.what.label >> 8) << payload_bits);
    out.put(what.what.count);
    out.put(what.what.digest);
    out.put(what.what.kind);
    out.put(what.what.type);
    out.put(what.what.op);
    out.put(what.what.algorithm);
    out.put(what.what.opaque_bytes);
    return bytes;
}

bool decode(std::span<const std::byte, frame_bytes> bytes, frame& what) noexcept {
    reader in{bytes.data()};
    if (in.take<std::uint32_t>() != magic || in.take<std::uint8_t>() != wire_version) return false;
    frame made;
    const std::uint32_t label_low = in.take<std::uint8_t>();
    made.kind = static_cast<frame_kind>(in.take<std::uint8_t>());
    const auto flags = in.take<std::uint8_t>();
    made.what.allocated = flags == allocated_bit;
    in.take(made.epoch);
    in.take(made.index);
    in.take(made.sequence);
    in.take(made.slice);
    in.take(made.what.root);
    const auto payload = in.take<std::uint64_t>();
    made.payload_bytes = payload & ((std::uint64_t{1} << payload_bits) - 1);
    made.what.label = (static_cast<std::uint32_t>(payload >> payload_bits) << 8 | label_low) & 0xff'ffff;
    in.take(made.what.count);
    in.take(made.what.digest);
    in.take(made.what.kind);
    in.take(made.what.type);
    in.take(made.what.op);
    in.take(made.what.algorithm);
    in.take(made.what.opaque_bytes);
    if ((flags & ~allocated_bit) != 0 || !is_possible(made)) return false;
    what = made;
    return true;
}

bool is_possible(const frame& what) noexcept {
    if (!known(static_cast<std::uint8_t>(what.kind)) || what.references > most_references) return false;
    if (what.in_place) return !what.answered && what.references == 0;
    return what.references > 0 || !what.answered;
}

}  // namespace tutti
