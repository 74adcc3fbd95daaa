// Which reductions can be had, and as what elements travel.
#include "gpu/nccl_types.hpp"

#include <doctest/doctest.h>

#include <string>

namespace nccl_types_test {

using namespace tutti;
using namespace tutti::gpu;

TEST_CASE("what NCCL cannot compute is told with type and operator") {
    constexpr nccl_abilities all{22809, 90, true}, old{21803, 90, true}, small{22809, 89, true}, plain{22809, 90, false};
    struct row {
        device_type type;
        reduction op;
        nccl_abilities has;
        const char* why;  // empty: it can
    };
    const row rows[] = {
        {device_type::f32, sum, old, ""},
        {device_type::bf16, avg, old, ""},
        {device_type::u64, prod, old, ""},
        {device_type::i8, avg, all, ""},
        {device_type::f16, premul_sum(0.5), all, ""},
        {device_type::e4m3, sum, all, ""},
        {device_type::e5m2, max, all, ""},
        {device_type::e4m3, sum, old, "sum of e4m3: NCCL computes with this type from 2.24.3 on"},
        {device_type::e5m2, min, small, "min of e5m2: the device's compute capability is 8.9, and 9.0 is needed"},
        {device_type::f32, premul_sum(0.5), plain, "premul of f32: this version of NCCL makes no operators"},
        {device_type::i64, premul_sum(2), all, "premul of i64: it scales f16, bf16, f32 and f64 only"},
        {device_type::e4m3, premul_sum(2), all, "premul of e4m3: it scales f16, bf16, f32 and f64 only"},
        {device_type::u16, sum, all, "sum of u16: NCCL does not compute with this type"},
        {device_type::boolean, max, all, "max of bool: NCCL does not compute with this type"},
        {device_type::cf32, sum, all, "sum of cf32: NCCL does not compute with this type"},
        {device_type::u8, bxor, all, "bxor of u8: NCCL has no such operator"},
    };
    for (const row& each : rows) {
        CAPTURE(name(each.type));
        CHECK(cannot_reduce(each.type, each.op, each.has).value_or("") == each.why);
    }
}

TEST_CASE("an average is NCCL's own, but of one rank's small floats, which it cannot scale") {
    for (const auto type : {device_type::f32, device_type::i8, device_type::bf16}) CHECK(nccl_op(reduce_op::avg, type, 1) == ncclAvg);
    for (const auto type : {device_type::e4m3, device_type::e5m2}) {
        CHECK(nccl_op(reduce_op::avg, type, 1) == ncclSum);
        CHECK(nccl_op(reduce_op::avg, type, 2) == ncclAvg);
    }
}

TEST_CASE("everything can be moved, as bytes where NCCL has no type for it") {
    CHECK(moved_as(device_type::f64, 8).type == ncclFloat64);
    CHECK(moved_as(device_type::f64, 8).each == 1);
    for (const auto& [type, bytes] : {std::pair(device_type::i16, 2u),
                                      {device_type::boolean, 1u},
                                      {device_type::cf64, 16u},
                                      {device_type::e4m3, 1u},
                                      {device_type::opaque, 7u}}) {
        CHECK(moved_as(type, bytes).type == ncclUint8);
        CHECK(moved_as(type, bytes).each == bytes);
    }
}

}  // namespace nccl_types_test
