#include "reduce/identity.hpp"

#include "reduce/visit.hpp"

#include <algorithm>
#include <concepts>
#include <limits>

namespace tutti {
namespace {

template <reduce_op Op, std::integral T>
constexpr T identity_of() noexcept {
    if constexpr (Op == min) return std::numeric_limits<T>::max();
    else if constexpr (Op == max) return std::numeric_limits<T>::lowest();
    else if constexpr (Op == band) return static_cast<T>(~T(0));
    else if constexpr (Op == prod) return T(1);
    else {
        static_assert(Op == sum || Op == bor || Op == bxor, "this operator has no identity for integers yet");
        return T(0);
    }
}

template <reduce_op Op, std::same_as<truth> T>
constexpr T identity_of() noexcept {
    constexpr bool is_and = Op == prod || Op == min || Op == band;
    static_assert(is_and || Op == sum || Op == max || Op == bor || Op == bxor, "this operator has no identity for bool yet");
    return {std::uint8_t{is_and}};
}

template <reduce_op Op, class T>
T identity_of() noexcept {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if constexpr (Op == min) return T(infinity);
    else if constexpr (Op == max) return T(-infinity);
    else if constexpr (Op == prod) return T(1.0f);
    else {
        static_assert(Op == sum, "this operator has no identity for floating and complex types yet");
        return T(0.0f);
    }
}

}  // namespace

void fill_identity(const reduction& op, data_type type, void* target, std::size_t count) noexcept {
    if (const detail::user_op* own = op.user()) {
        for (auto* at = static_cast<std::byte*>(target); count > 0; --count, at += own->identity().size())
            std::copy(own->identity().begin(), own->identity().end(), at);
        return;
    }
    visit(op.kind(), type, [&]<reduce_op Op, class T> { std::fill_n(static_cast<T*>(target), count, identity_of<Op, T>()); });
}

}  // namespace tutti
