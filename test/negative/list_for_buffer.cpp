// expect: the input is a list of buffers, where a single buffer is expected
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> mine(4), one(4), two(4);
#ifdef RIGHT
    (void)world.all_gather(mine, tutti::buffers(one, two));
#else
    (void)world.all_gather(tutti::buffers(mine), tutti::buffers(one, two));
#endif
}
