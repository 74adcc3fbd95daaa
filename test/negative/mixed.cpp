// expect: the element types differ
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> from(4);
    std::vector<double> wide(4);
    std::vector<float> to(4);
#ifdef RIGHT
    (void)world.all_reduce(from, to, tutti::sum);
#else
    (void)world.all_reduce(from, wide, tutti::sum);
#endif
}
