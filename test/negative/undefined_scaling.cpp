// expect: not defined for this element type: see docs/numerics.md
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> data(4);
#ifdef RIGHT
    (void)world.reduce(data, tutti::sum, 0);
#else
    (void)world.reduce(data, tutti::premul_sum(2), 0);
#endif
}
