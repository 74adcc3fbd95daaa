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
    visit(type, [&]<class T> {
        auto* values = static_cast<T*>(data);
        for (std::size_t i = 0; i < count; ++i) values[i] = divide_one(values[i], divisor);
    });
}

}  // namespace tutti
