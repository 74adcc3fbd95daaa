#include "reduce/scalar.hpp"

#include "reduce/visit.hpp"

namespace tutti {

void combine_scalar(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) noexcept {
    visit(op, type, [&]<reduce_op Op, class T> {
        auto* out = static_cast<T*>(target);
        const auto* a = static_cast<const T*>(first);
        const auto* b = static_cast<const T*>(second);
        for (std::size_t i = 0; i < count; ++i) out[i] = combine_one<Op>(a[i], b[i]);
    });
}

void divide_scalar(data_type type, void* data, std::size_t count, int divisor) noexcept {
    visit_defined<reduce_op::avg>(type, [&]<class T> {
        auto* values = static_cast<T*>(data);
        for (std::size_t i = 0; i < count; ++i) values[i] = divide_one(values[i], divisor);
    });
}

void scale_scalar(data_type type, void* target, const void* source, std::size_t count, double factor) noexcept {
    visit_defined<reduce_op::premul>(type, [&]<class T> {
        auto* out = static_cast<T*>(target);
        const auto* in = static_cast<const T*>(source);
        for (std::size_t i = 0; i < count; ++i) out[i] = scale_one(in[i], factor);
    });
}

}  // namespace tutti
