// expect: the output is const
#include <tutti/communicator.hpp>

#include <span>
#include <vector>

void call(tutti::communicator& world) {
    std::vector<float> mine(4), one(4), two(4);
    const tutti::const_buffer constant = std::span<const float>(mine);
#ifdef RIGHT
    (void)world.scatter(tutti::buffers(one, two), mine, 0);
#else
    (void)world.scatter(tutti::buffers(one, two), constant, 0);
#endif
}
