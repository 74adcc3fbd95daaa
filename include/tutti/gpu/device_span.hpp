// Borrowed device memory whose element type is known only at run time, and the types that only devices compute with.
#pragma once

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// A floating number of 8 bits, as storage: 4 of exponent, 3 of mantissa.
struct e4m3 {
    std::uint8_t bits = 0;
    friend bool operator==(e4m3, e4m3) = default;
};
/// A floating number of 8 bits, as storage: 5 of exponent, 2 of mantissa.
struct e5m2 {
    std::uint8_t bits = 0;
    friend bool operator==(e5m2, e5m2) = default;
};

/// The types of tutti::data_type, with the same numbers, and behind them the two above.
enum class device_type : std::uint8_t {
    f32,
    f64,
    f16,
    bf16,
    i8,
    u8,
    i32,
    u32,
    i64,
    u64,
    i16,
    u16,
    boolean,
    cf32,
    cf64,
    opaque,
    e4m3,
    e5m2
};
inline constexpr int device_type_count = static_cast<int>(device_type::e5m2) + 1;
static_assert(static_cast<int>(device_type::e4m3) == data_type_count,
              "device_type needs each data_type, before e4m3 and with the same number");

/// Returns the device's type of the same number.
constexpr device_type of_device(data_type type) noexcept { return static_cast<device_type>(type); }
/// Returns the host's type; the 8-bit floats are bytes there.
constexpr data_type of_host(device_type type) noexcept { return type >= device_type::e4m3 ? data_type::u8 : static_cast<data_type>(type); }
static_assert(of_device(data_type::opaque) == device_type::opaque);

/// Returns the bytes of one element, and the type's name; they are those of tutti::size_of and tutti::name.
constexpr std::size_t size_of(device_type type) noexcept { return tutti::size_of(of_host(type)); }
constexpr std::string_view name(device_type type) noexcept {
    return type == device_type::e4m3 ? "e4m3" : type == device_type::e5m2 ? "e5m2" : tutti::name(of_host(type));
}

template <transferable T>
inline constexpr device_type device_type_of = of_device(type_of<T>);
template <>
inline constexpr device_type device_type_of<e4m3> = device_type::e4m3;
template <>
inline constexpr device_type device_type_of<e5m2> = device_type::e5m2;

/// Borrowed device memory of `count` elements (not bytes). `kept` may hold what keeps the memory alive; an operation then holds it until
/// completion.
struct const_device_span {
    const void* data = nullptr;
    std::size_t count = 0;
    device_type type = device_type::f32;
    std::size_t opaque_bytes = 0;  // of one element, if the type is opaque
    keep_alive kept;

    const_device_span() noexcept = default;
    const_device_span(const void* where, std::size_t elements, device_type what, keep_alive keep = {}) noexcept
        : data(where),
          count(elements),
          type(what),
          kept(std::move(keep)) {}
    const_device_span(const void* where, std::size_t elements, data_type what, keep_alive keep = {}) noexcept
        : const_device_span(where, elements, of_device(what), std::move(keep)) {}
    /// For an address range on the device.
    template <transferable T>
    const_device_span(std::span<T> elements, keep_alive keep = {}) noexcept
        : const_device_span(elements.data(), elements.size(), device_type_of<std::remove_cv_t<T>>, std::move(keep)) {
        if (type == device_type::opaque) opaque_bytes = sizeof(T);
    }
    template <transferable T>
    const_device_span(const device_buffer<T>& all) noexcept : const_device_span(std::span<const T>(all.data(), all.size()), all.keep()) {}

    std::size_t element_bytes() const noexcept { return type == device_type::opaque ? opaque_bytes : size_of(type); }
    std::size_t bytes() const noexcept { return count * element_bytes(); }
};

/// Like const_device_span, for memory that is written.
struct device_span {
    void* data = nullptr;
    std::size_t count = 0;
    device_type type = device_type::f32;
    std::size_t opaque_bytes = 0;
    keep_alive kept;

    device_span() noexcept = default;
    device_span(void* where, std::size_t elements, device_type what, keep_alive keep = {}) noexcept
        : data(where),
          count(elements),
          type(what),
          kept(std::move(keep)) {}
    device_span(void* where, std::size_t elements, data_type what, keep_alive keep = {}) noexcept
        : device_span(where, elements, of_device(what), std::move(keep)) {}
    template <transferable T>
        requires(!std::is_const_v<T>)
    device_span(std::span<T> elements, keep_alive keep = {})
    noexcept : device_span(elements.data(), elements.size(), device_type_of<T>, std::move(keep)) {
        if (type == device_type::opaque) opaque_bytes = sizeof(T);
    }
    template <transferable T>
    device_span(const device_buffer<T>& all) noexcept : device_span(std::span<T>(all.data(), all.size()), all.keep()) {}

    operator const_device_span() const noexcept {
        const_device_span same(data, count, type, kept);
        same.opaque_bytes = opaque_bytes;
        return same;
    }
    std::size_t element_bytes() const noexcept { return type == device_type::opaque ? opaque_bytes : size_of(type); }
    std::size_t bytes() const noexcept { return count * element_bytes(); }
    /// Returns some of the elements, without accessing them.
    device_span part(std::size_t first, std::size_t elements) const noexcept {
        device_span some = *this;
        some.data = static_cast<std::byte*>(data) + first * element_bytes();
        some.count = elements;
        return some;
    }
};

}  // namespace gpu
}  // namespace tutti
