// expect: would be gone before the operation ends: give it a name
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> data{1, 2}, more{3};
#ifdef RIGHT
    (void)world.all_reduce(tutti::buffers(data, more), tutti::sum);
#else
    (void)tutti::buffers(data, std::vector<int>{3});
#endif
}
