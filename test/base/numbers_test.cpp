// Numbers that go over the wire and into files, and are therefore never given to anything else.
#include <tutti/error.hpp>
#include <tutti/types.hpp>

#include <doctest/doctest.h>

#include <iterator>
#include <string_view>

using namespace tutti;

namespace {

template <class Kind>
struct row {
    int number;
    Kind kind;
    std::string_view name;
};

constexpr row<data_type> types[] = {
    {0, data_type::f32, "f32"},       {1, data_type::f64, "f64"},    {2, data_type::f16, "f16"},    {3, data_type::bf16, "bf16"},
    {4, data_type::i8, "i8"},         {5, data_type::u8, "u8"},      {6, data_type::i32, "i32"},    {7, data_type::u32, "u32"},
    {8, data_type::i64, "i64"},       {9, data_type::u64, "u64"},    {10, data_type::i16, "i16"},   {11, data_type::u16, "u16"},
    {12, data_type::boolean, "bool"}, {13, data_type::cf32, "cf32"}, {14, data_type::cf64, "cf64"}, {15, data_type::opaque, "opaque"},
};
constexpr row<reduce_op> operators[] = {
    {0, reduce_op::sum, "sum"},       {1, reduce_op::prod, "prod"},     {2, reduce_op::min, "min"}, {3, reduce_op::max, "max"},
    {4, reduce_op::avg, "avg"},       {5, reduce_op::band, "band"},     {6, reduce_op::bor, "bor"}, {7, reduce_op::bxor, "bxor"},
    {8, reduce_op::premul, "premul"}, {9, reduce_op::custom, "custom"},
};
constexpr row<error> errors[] = {
    {1, error::cancelled, "cancelled"},
    {2, error::timed_out, "timed out"},
    {3, error::rendezvous_timeout, "rendezvous timed out"},
    {4, error::peer_died, "peer died"},
    {5, error::peer_left, "peer left"},
    {6, error::aborted, "aborted"},
    {7, error::mismatch, "mismatch"},
    {8, error::protocol_error, "protocol error"},
    {9, error::refused, "refused"},
    {10, error::invalid_argument, "invalid argument"},
    {11, error::unsupported, "unsupported"},
    {12, error::closed, "closed"},
    {13, error::bad_launch, "bad launch"},
    {14, error::system, "system error"},
    {15, error::device_failed, "device failed"},
    {16, error::truncated, "truncated"},
};

static_assert(std::size(types) == data_type_count, "a data_type is missing above, with the number that it keeps");
static_assert(std::size(operators) == reduce_op_count, "a reduce_op is missing above, with the number that it keeps");

}  // namespace

TEST_CASE("every type, operator and error keeps its number and its name") {
    for (const auto& each : types) {
        CHECK(static_cast<int>(each.kind) == each.number);
        CHECK(name(each.kind) == each.name);
    }
    for (const auto& each : operators) {
        CHECK(static_cast<int>(each.kind) == each.number);
        CHECK(name(each.kind) == each.name);
    }
    for (const auto& each : errors) {
        CHECK(static_cast<int>(each.kind) == each.number);
        CHECK(make_error_code(each.kind).message() == each.name);
    }
    CHECK(make_error_code(static_cast<error>(std::size(errors) + 1)).message() == "unknown error");
}
