// The results of NCCL's operators for several ranks, worked out in double from numbers that every type holds exactly.
#include "gpu/ranks.hpp"
#include "gpu/sim/checked_machine.hpp"
#include "gpu/sim/small_float.hpp"

#include <tutti/gpu/device_span.hpp>
#include <tutti/types.hpp>

#include <algorithm>
#include <cmath>

namespace sim_results_test {

using namespace tutti;
using namespace tutti::gpu;
using test::ranks;

namespace {

template <class T>
struct type_of_nccl;
#define TUTTI_TYPE(type, name)                        \
    template <>                                       \
    struct type_of_nccl<type> {                       \
        static constexpr ncclDataType_t value = name; \
    };
TUTTI_TYPE(std::int8_t, ncclInt8)
TUTTI_TYPE(std::uint8_t, ncclUint8)
TUTTI_TYPE(std::int32_t, ncclInt32)
TUTTI_TYPE(std::uint32_t, ncclUint32)
TUTTI_TYPE(std::int64_t, ncclInt64)
TUTTI_TYPE(std::uint64_t, ncclUint64)
TUTTI_TYPE(float16, ncclFloat16)
TUTTI_TYPE(bfloat16, ncclBfloat16)
TUTTI_TYPE(float, ncclFloat32)
TUTTI_TYPE(double, ncclFloat64)
TUTTI_TYPE(e4m3, ncclFloat8e4m3)
TUTTI_TYPE(e5m2, ncclFloat8e5m2)
#undef TUTTI_TYPE

template <class T>
constexpr bool is_small = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

template <class T>
T element(double value) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
    else if constexpr (is_small<T>) return T{sim::small_float_bits(type_of_nccl<T>::value, static_cast<float>(value))};
    else return T(static_cast<float>(value));
}
template <class T>
double number(T value) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
    else if constexpr (is_small<T>) return static_cast<double>(sim::small_float_value(type_of_nccl<T>::value, value.bits));
    else return static_cast<double>(static_cast<float>(value));
}

constexpr std::size_t count = 5;

/// Between results of all types but the small ones nothing is rounded; they have 4 and 3 bits, so they are held to one of their steps.
template <class T>
double unit() {
    if (std::is_same_v<T, e5m2>) return 0x1p-3;
    if (std::is_same_v<T, e4m3>) return 0x1p-4;
    if (std::is_same_v<T, bfloat16>) return 0x1p-8;
    return std::is_same_v<T, float16> ? 0x1p-11 : 0x1p-23;
}

double contribution(int rank, std::size_t index) { return static_cast<double>((static_cast<std::size_t>(rank) * 3 + index) % 4 + 1); }

double expected(ncclRedOp_t op, int size, std::size_t index, bool whole) {
    double all = contribution(0, index);
    for (int rank = 1; rank < size; ++rank) {
        const double mine = contribution(rank, index);
        all = op == ncclProd ? all * mine : op == ncclMax ? std::max(all, mine) : op == ncclMin ? std::min(all, mine) : all + mine;
    }
    return op == ncclAvg ? (whole ? std::trunc(all / size) : all / size) : all;
}

template <class T>
void check_type(sim::machine& machine, ranks& world) {
    constexpr ncclDataType_t type = type_of_nccl<T>::value;
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, ncclNumOps}) {
        if (is_small<T> && (op == ncclNumOps || (op == ncclAvg && world.size == 1))) continue;
        std::vector<T*> data;
        std::vector<ncclRedOp_t> ops(ranks::at(world.size), op);
        for (int rank = 0; rank < world.size; ++rank) {
            std::vector<T> mine;
            for (std::size_t index = 0; index < count; ++index) mine.push_back(element<T>(contribution(rank, index)));
            data.push_back(world.put(rank, mine));
            T factor = element<T>(2);
            if (op == ncclNumOps)
                REQUIRE(world.nccl.ncclRedOpCreatePreMulSum(&ops[ranks::at(rank)], &factor, type, ncclScalarHostImmediate,
                                                            world.comm(rank)) == ncclSuccess);
        }
        world.all([&](int rank) {
            T* const mine = data[ranks::at(rank)];
            return world.nccl.ncclAllReduce(mine, mine, count, type, ops[ranks::at(rank)], world.comm(rank), world.stream(rank));
        });
        machine.run();
        for (int rank = 0; rank < world.size; ++rank) {
            const std::vector<T> got = world.get(data[ranks::at(rank)], count);
            for (std::size_t index = 0; index < count; ++index) {
                CAPTURE(type);
                CAPTURE(op);
                CAPTURE(world.size);
                const double right = op == ncclNumOps ? 2 * expected(ncclSum, world.size, index, false)
                                                      : expected(op, world.size, index, std::is_integral_v<T>);
                // An average multiplies by 1/n before it adds, so it is rounded n times.
                const bool rounds = is_small<T> || (op == ncclAvg && !std::is_integral_v<T>);
                const double tolerance = rounds ? 2 * world.size * unit<T>() * right : 0;
                CHECK(std::abs(number(got[index]) - right) <= tolerance);
            }
        }
    }
}

}  // namespace

TEST_CASE("every operator combines every type, for several ranks") {
    for (const int size : {1, 2, 3, 4}) {
        sim::options how;
        how.devices = size;
        sim::checked_machine machine(how);
        ranks world(machine, size);
        check_type<std::int8_t>(machine, world);
        check_type<std::uint8_t>(machine, world);
        check_type<std::int32_t>(machine, world);
        check_type<std::uint32_t>(machine, world);
        check_type<std::int64_t>(machine, world);
        check_type<std::uint64_t>(machine, world);
        check_type<float16>(machine, world);
        check_type<bfloat16>(machine, world);
        check_type<float>(machine, world);
        check_type<double>(machine, world);
        check_type<e4m3>(machine, world);
        check_type<e5m2>(machine, world);
    }
}

TEST_CASE("small floats are the numbers they are, and others are rounded to the nearest of them, ties to even") {
    struct row {
        ncclDataType_t type;
        float value;
        std::uint8_t bits;
    };
    constexpr float large = 1e9F;
    const row rows[] = {
        {ncclFloat8e4m3, 0.0F, 0x00},     {ncclFloat8e4m3, -0.0F, 0x80},    {ncclFloat8e4m3, 1.0F, 0x38},
        {ncclFloat8e4m3, -1.5F, 0xbc},    {ncclFloat8e4m3, 448.0F, 0x7e},   {ncclFloat8e4m3, large, 0x7e},
        {ncclFloat8e4m3, -large, 0xfe},   {ncclFloat8e4m3, 0x1p-9F, 0x01},  {ncclFloat8e4m3, 0x1p-10F, 0x00},
        {ncclFloat8e4m3, 17.0F, 0x58},    {ncclFloat8e4m3, 19.0F, 0x5a},    {ncclFloat8e4m3, NAN, 0x7f},
        {ncclFloat8e5m2, 1.0F, 0x3c},     {ncclFloat8e5m2, 57344.0F, 0x7b}, {ncclFloat8e5m2, large, 0x7b},
        {ncclFloat8e5m2, 0x1p-16F, 0x01}, {ncclFloat8e5m2, 9.0F, 0x48},     {ncclFloat8e5m2, 11.0F, 0x4a},
        {ncclFloat8e5m2, NAN, 0x7f},
    };
    for (const row& each : rows) {
        CAPTURE(each.value);
        CHECK(sim::small_float_bits(each.type, each.value) == each.bits);
    }
    CHECK(std::isinf(sim::small_float_value(ncclFloat8e5m2, 0x7c)));
    for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2})
        for (int bits = 0; bits < 256; ++bits) {
            const float value = sim::small_float_value(type, static_cast<std::uint8_t>(bits));
            if (std::isfinite(value)) CHECK(sim::small_float_bits(type, value) == bits);
        }
}

}  // namespace sim_results_test
