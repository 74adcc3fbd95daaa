// expect: not defined for this element type: see docs/numerics.md
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> data(4);
#ifdef RIGHT
    (void)world.all_reduce(data, tutti::max);
#else
    (void)world.all_reduce(data, tutti::band);
#endif
}
