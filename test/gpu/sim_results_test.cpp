// What NCCL's operators give for several ranks, worked out in double from numbers that every type holds exactly.
#include "gpu/ranks.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <tutti/types.hpp>

#include <algorithm>
#include <cmath>

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
#undef TUTTI_TYPE

template <class T>
T element(double value) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
    else return T(static_cast<float>(value));
}
template <class T>
double number(T value) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
    else return static_cast<double>(static_cast<float>(value));
}

constexpr std::size_t count = 5;

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
                const double unit = std::is_same_v<T, bfloat16> ? 0x1p-8 : std::is_same_v<T, float16> ? 0x1p-11 : 0x1p-23;
                const double tolerance = op == ncclAvg && !std::is_integral_v<T> ? 2 * world.size * unit * right : 0;
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
    }
}
