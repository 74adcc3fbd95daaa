// Little-endian numbers in byte arrays, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tutti {

/// Writes behind what was written before; the caller sizes the array.
class byte_writer {
public:
    explicit byte_writer(std::span<std::byte> into) noexcept : into_(into) {}

    template <class Number>
        requires std::is_integral_v<Number>
    void put(Number value) noexcept {
        auto bits = static_cast<std::make_unsigned_t<Number>>(value);
        for (std::size_t index = 0; index < sizeof(Number); ++index) into_[at_++] = static_cast<std::byte>((static_cast<std::uint64_t>(bits) >> (8 * index)) & 0xff);
    }
    /// As many bytes of the text as there is room for, at most `limit`, behind their number (16 bits).
    void put_text(std::string_view text, std::size_t limit) noexcept {
        const std::size_t length = std::min({text.size(), limit, into_.size() - at_ - 2});
        put(static_cast<std::uint16_t>(length));
        for (std::size_t index = 0; index < length; ++index) into_[at_++] = static_cast<std::byte>(text[index]);
    }
    std::size_t written() const noexcept { return at_; }

private:
    std::span<std::byte> into_;
    std::size_t at_ = 0;
};

/// Reads in the order of writing. Beyond the end it reads zeros and `failed` is true.
class byte_reader {
public:
    explicit byte_reader(std::span<const std::byte> from) noexcept : from_(from) {}

    template <class Number>
        requires std::is_integral_v<Number>
    Number take() noexcept {
        if (from_.size() - at_ < sizeof(Number)) {
            failed_ = true;
            return 0;
        }
        std::uint64_t bits = 0;
        for (std::size_t index = 0; index < sizeof(Number); ++index) bits |= static_cast<std::uint64_t>(from_[at_++]) << (8 * index);
        return static_cast<Number>(bits);
    }
    std::string_view take_text() noexcept {
        const std::size_t length = take<std::uint16_t>();
        if (failed_ || from_.size() - at_ < length) {
            failed_ = true;
            return {};
        }
        const auto* text = reinterpret_cast<const char*>(from_.data() + at_);
        at_ += length;
        return {text, length};
    }
    bool failed() const noexcept { return failed_; }

private:
    std::span<const std::byte> from_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

/// Returns the digest FNV-1a. For names that both sides make themselves, not for secrets.
constexpr std::uint64_t digest_of(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325u) noexcept {
    for (const char each : text) seed = (seed ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
    return seed;
}
/// Adds a number to the digest of a sequence. The high bits are mixed into the low ones, because small numbers differ only there.
constexpr std::uint64_t digest_of(std::uint64_t number, std::uint64_t seed) noexcept {
    seed = (seed ^ number) * 0x9e3779b97f4a7c15u;
    return seed ^ seed >> 32;
}

}  // namespace tutti
