#include <tutti/error.hpp>
#include <tutti/reduction.hpp>

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

namespace tutti {

detail::user_op::user_op(std::string name, tutti::commutes order, data_type type, std::size_t element_bytes, std::size_t alignment,
                         std::span<const std::byte> identity)
    : name_(std::move(name)),
      commutes_(order),
      type_(type),
      element_bytes_(element_bytes),
      alignment_(alignment),
      identity_(identity.begin(), identity.end()),
      digest_(digest_of(name_, digest_of(order == tutti::commutes::yes ? "commutes " : "in order "))) {}

// The right operand is overwritten, so it is copied first: to the target, or piece by piece where the left one lies there.
void detail::user_op::combine_by(const onto_right& function, void* target, const void* first, const void* second, std::size_t count) const {
    if (count == 0) return;
    if (target != first) {
        if (target != second) std::memcpy(target, second, count * element_bytes_);
        function(first, target, count);
        return;
    }
    constexpr std::size_t piece_bytes = 4096;
    alignas(std::max_align_t) std::array<std::byte, piece_bytes> small;
    const auto large = element_bytes_ > piece_bytes ? std::make_unique_for_overwrite<std::byte[]>(element_bytes_) : nullptr;
    std::byte* const piece = large ? large.get() : small.data();
    const std::size_t most = std::max<std::size_t>(1, piece_bytes / element_bytes_);
    auto* left = static_cast<std::byte*>(target);
    auto* right = static_cast<const std::byte*>(second);
    for (std::size_t done = 0; done < count;) {
        const std::size_t next = std::min(count - done, most), bytes = next * element_bytes_;
        std::memcpy(piece, right, bytes);
        function(left, piece, next);
        std::memcpy(left, piece, bytes);
        left += bytes;
        right += bytes;
        done += next;
    }
}

namespace {

failure wrong_operator(std::string_view name, std::string_view why) {
    return failure(error::invalid_argument, fmt::format("operator '{}' {}", name, why));
}

}  // namespace

untyped_op::untyped_op(std::string name, tutti::commutes order, std::size_t element_bytes, std::size_t alignment, function combine,
                       std::span<const std::byte> identity)
    : user_op(std::move(name), order, data_type::opaque, element_bytes, alignment, identity),
      function_(std::move(combine)) {
    if (element_bytes == 0 || element_bytes > std::numeric_limits<std::uint32_t>::max())
        throw wrong_operator(this->name(), fmt::format("combines elements of {} bytes; 1 byte to 4 GiB are expected", element_bytes));
    if (!std::has_single_bit(alignment) || alignment > alignof(std::max_align_t) || element_bytes % alignment != 0)
        throw wrong_operator(
            this->name(),
            fmt::format("has an alignment of {} bytes; a power of two up to {} is expected that divides the {} bytes of an element",
                        alignment, alignof(std::max_align_t), element_bytes));
    check();
}

untyped_op::untyped_op(std::string name, tutti::commutes order, data_type type, function combine, std::span<const std::byte> identity)
    : user_op(std::move(name), order, type, size_of(type), is_complex(type) ? size_of(type) / 2 : size_of(type), identity),
      function_(std::move(combine)) {
    if (size_of(type) == 0)
        throw wrong_operator(this->name(),
                             fmt::format("is made for elements {}, whose size is not known; give their bytes instead", tutti::name(type)));
    check();
}

void untyped_op::check() const {
    if (!function_) throw wrong_operator(name(), "has no function");
    if (!identity().empty() && identity().size() != element_bytes())
        throw wrong_operator(
            name(), fmt::format("has an identity of {} bytes; {} are expected, as of any element", identity().size(), element_bytes()));
}

}  // namespace tutti
