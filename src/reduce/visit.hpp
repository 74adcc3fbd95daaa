// From a data type and an operator known at run time to a C++ type and constant.
#pragma once

#include <tutti/types.hpp>

#include <cstdint>

namespace tutti {

/// Calls `work.template operator()<T>()` for the C++ type of `type`.
template <class Work>
void visit(data_type type, Work&& work) {
    switch (type) {
        case data_type::f32: return work.template operator()<float>();
        case data_type::f64: return work.template operator()<double>();
        case data_type::f16: return work.template operator()<float16>();
        case data_type::bf16: return work.template operator()<bfloat16>();
        case data_type::i8: return work.template operator()<std::int8_t>();
        case data_type::u8: return work.template operator()<std::uint8_t>();
        case data_type::i32: return work.template operator()<std::int32_t>();
        case data_type::u32: return work.template operator()<std::uint32_t>();
        case data_type::i64: return work.template operator()<std::int64_t>();
        case data_type::u64: return work.template operator()<std::uint64_t>();
    }
}

/// The same with the operator as first template argument; `avg` arrives as `sum`.
template <class Work>
void visit(reduce_op op, data_type type, Work&& work) {
    switch (op) {
        case sum:
        case avg: return visit(type, [&]<class T> { work.template operator()<sum, T>(); });
        case prod: return visit(type, [&]<class T> { work.template operator()<prod, T>(); });
        case min: return visit(type, [&]<class T> { work.template operator()<min, T>(); });
        case max: return visit(type, [&]<class T> { work.template operator()<max, T>(); });
    }
}

}  // namespace tutti
