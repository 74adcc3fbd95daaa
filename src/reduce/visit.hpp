// From a data type and an operator known at run time to a C++ type and constant.
#pragma once

#include <tutti/types.hpp>

#include <array>
#include <complex>
#include <cstdint>

namespace tutti {

/// A bool as memory holds it: any byte, of which 0 is false.
struct truth {
    std::uint8_t byte = 0;
};

/// The data_type that `visit` gives as T.
template <class T>
inline constexpr data_type data_type_of = type_of<T>;
template <>
inline constexpr data_type data_type_of<truth> = data_type::boolean;

/// All types but `opaque`, whose elements only an operator of the user combines.
inline constexpr auto reducible_types = [] {
    std::array<data_type, data_type_count - 1> found{};
    std::size_t count = 0;
    for (const auto& each : detail::data_types)
        if (each.kind != detail::kinds::none) found[count++] = each.type;
    return found;
}();
/// All operators but `custom`, which the user makes.
inline constexpr auto library_ops = [] {
    std::array<reduce_op, reduce_op_count - 1> found{};
    std::size_t count = 0;
    for (const auto& each : detail::reduce_ops)
        if (each.kinds != detail::kinds::none) found[count++] = each.op;
    return found;
}();

/// Calls `work.template operator()<T>()` for the C++ type of `type`; not for `opaque`.
template <class Work>
void visit(data_type type, Work&& work) {
    switch (type) {
        case data_type::f32: return work.template operator()<float>();
        case data_type::f64: return work.template operator()<double>();
        case data_type::f16: return work.template operator()<float16>();
        case data_type::bf16: return work.template operator()<bfloat16>();
        case data_type::i8: return work.template operator()<std::int8_t>();
        case data_type::u8: return work.template operator()<std::uint8_t>();
        case data_type::i16: return work.template operator()<std::int16_t>();
        case data_type::u16: return work.template operator()<std::uint16_t>();
        case data_type::i32: return work.template operator()<std::int32_t>();
        case data_type::u32: return work.template operator()<std::uint32_t>();
        case data_type::i64: return work.template operator()<std::int64_t>();
        case data_type::u64: return work.template operator()<std::uint64_t>();
        case data_type::boolean: return work.template operator()<truth>();
        case data_type::cf32: return work.template operator()<std::complex<float>>();
        case data_type::cf64: return work.template operator()<std::complex<double>>();
        case data_type::opaque: return;
    }
}

/// Visits the floating and integer types only.
template <class Work>
void visit_numbers(data_type type, Work&& work) {
    visit(type, [&]<class T> {
        if constexpr (is_floating(data_type_of<T>) || is_integer(data_type_of<T>)) work.template operator()<T>();
    });
}

/// Visits the types for which `Op` is defined.
template <reduce_op Op, class Work>
void visit_defined(data_type type, Work&& work) {
    visit(type, [&]<class T> {
        if constexpr (defined(Op, data_type_of<T>)) work.template operator()<T>();
    });
}

/// Visits with the operator as first template argument. `avg` and `premul` become `sum`; `custom` is not visited.
template <class Work>
void visit(reduce_op op, data_type type, Work&& work) {
    const auto with = [&]<reduce_op Op> { visit_defined<Op>(type, [&]<class T> { work.template operator()<Op, T>(); }); };
    switch (op) {
        case reduce_op::sum:
        case reduce_op::avg:
        case reduce_op::premul: return with.template operator()<reduce_op::sum>();
        case reduce_op::prod: return with.template operator()<reduce_op::prod>();
        case reduce_op::min: return with.template operator()<reduce_op::min>();
        case reduce_op::max: return with.template operator()<reduce_op::max>();
        case reduce_op::band: return with.template operator()<reduce_op::band>();
        case reduce_op::bor: return with.template operator()<reduce_op::bor>();
        case reduce_op::bxor: return with.template operator()<reduce_op::bxor>();
        case reduce_op::custom: return;
    }
}

}  // namespace tutti
