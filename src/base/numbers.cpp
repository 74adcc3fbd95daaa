// Proves that no enumerator of data_type and reduce_op lacks its row in tutti/types.hpp. Compilers print the number of a value that has no name.
#include <tutti/types.hpp>

#include <string_view>
#include <utility>

namespace tutti {
namespace {

template <auto Value>
consteval bool has_name() {
    const std::string_view text = __PRETTY_FUNCTION__;  // ends in "Value = tutti::data_type::f32]" or "Value = (tutti::data_type)77]"
    return text.substr(text.rfind(" = ") + 3).front() != '(';
}

/// Returns whether one of the numbers from `Count` to 255 has a name.
template <class Enum, int Count>
consteval bool any_beyond() {
    return []<int... Number>(std::integer_sequence<int, Number...>) { return (has_name<static_cast<Enum>(Count + Number)>() || ...); }
    (std::make_integer_sequence<int, 256 - Count>());
}

static_assert(has_name<data_type::f32>() && has_name<reduce_op::sum>(), "this compiler prints enumerators in another way");
static_assert(!any_beyond<data_type, data_type_count>(), "a data_type has no row in detail::data_types: add one, in tutti/types.hpp");
static_assert(!any_beyond<reduce_op, reduce_op_count>(), "a reduce_op has no row in detail::reduce_ops: add one, in tutti/types.hpp");

}  // namespace
}  // namespace tutti
