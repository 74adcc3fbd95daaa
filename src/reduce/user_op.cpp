#include <tutti/reduction.hpp>

#include "base/bytes.hpp"

namespace tutti::detail {

user_op::user_op(std::string name, tutti::commutes order, data_type type, std::size_t element_bytes, std::size_t alignment)
    : name_(std::move(name)),
      commutes_(order),
      type_(type),
      element_bytes_(element_bytes),
      alignment_(alignment),
      digest_(digest_of(name_, digest_of(order == tutti::commutes::yes ? "commutes " : "in order "))) {}

}  // namespace tutti::detail
