// expect: the output is const
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    const std::vector<float> data(4);
    std::vector<float> to(4);
#ifdef RIGHT
    (void)world.all_reduce(data, to, tutti::sum);
#else
    (void)world.all_reduce(data, tutti::sum);
#endif
}
