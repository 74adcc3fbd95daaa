#include "gpu/sim/state.hpp"

#include <algorithm>

namespace tutti::gpu::sim {
namespace {

bool lacks(const options& how, const char* symbol) {
    struct since {
        const char* symbol;
        int version;
    };
    constexpr since newer[] = {
        {"ncclCommSplit", NCCL_VERSION(2, 18, 1)}, {"ncclCommShrink", NCCL_VERSION(2, 27, 3)}, {"ncclAlltoAll", NCCL_VERSION(2, 28, 3)},
        {"ncclGather", NCCL_VERSION(2, 28, 3)},    {"ncclScatter", NCCL_VERSION(2, 28, 3)},
    };
    const std::string name = symbol;
    return std::find(how.missing.begin(), how.missing.end(), name) != how.missing.end() ||
           std::any_of(std::begin(newer), std::end(newer),
                       [&](const since& each) { return name == each.symbol && how.nccl_version < each.version; });
}

}  // namespace

// The symbols are macros in cuda.h: what is asked for by text has the name of the list.
#define TUTTI_SIM_FILL(symbol) \
    if (!lacks(how(), #symbol)) filled.symbol = &::symbol;

driver_table machine::driver() const {
    driver_table filled;
    TUTTI_DRIVER_SYMBOLS(TUTTI_SIM_FILL)
    TUTTI_OPTIONAL_DRIVER_SYMBOLS(TUTTI_SIM_FILL)
    return filled;
}

nccl_table machine::nccl() const {
    nccl_table filled;
    TUTTI_NCCL_SYMBOLS(TUTTI_SIM_FILL)
    TUTTI_OPTIONAL_NCCL_SYMBOLS(TUTTI_SIM_FILL)
    return filled;
}

}  // namespace tutti::gpu::sim
