// Numbers and texts as bytes that mean the same on every machine (little-endian), and back, without trust in what arrived.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

class wire_writer {
public:
    void u8(std::uint8_t value) { bytes_ += static_cast<char>(value); }
    void u32(std::uint32_t value) { number(value, 4); }
    void u64(std::uint64_t value) { number(value, 8); }
    void i64(std::int64_t value) { u64(std::bit_cast<std::uint64_t>(value)); }
    /// At most 4 GiB; no frame is as long.
    void text(std::string_view value) {
        u32(static_cast<std::uint32_t>(value.size()));
        bytes_ += value;
    }
    void optional_text(const std::optional<std::string>& value) {
        u8(value.has_value());
        if (value) text(*value);
    }
    std::string& bytes() noexcept { return bytes_; }

private:
    void number(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    }
    std::string bytes_;
};

/// After the end everything reads as 0 or empty, and `complete` is false.
class wire_reader {
public:
    explicit wire_reader(std::string_view bytes) noexcept : rest_(bytes) {}

    std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(number(1)); }
    std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(number(4)); }
    std::uint64_t u64() noexcept { return number(8); }
    std::int64_t i64() noexcept { return std::bit_cast<std::int64_t>(number(8)); }
    std::string text() { return std::string(take(u32())); }
    std::optional<std::string> optional_text() {
        if (u8() == 0) return std::nullopt;
        return text();
    }
    /// Returns whether every byte was read and none was missing.
    bool complete() const noexcept { return !short_ && rest_.empty(); }

private:
    std::string_view take(std::size_t count) noexcept {
        if (count > rest_.size()) {
            short_ = true;
            rest_ = {};
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::uint64_t number(std::size_t bytes) noexcept {
        std::uint64_t value = 0;
        int shift = 0;
        for (const char one : take(bytes)) {
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(one)) << shift;
            shift += 8;
        }
        return value;
    }

    std::string_view rest_;
    bool short_ = false;
};

}  // namespace tutti
