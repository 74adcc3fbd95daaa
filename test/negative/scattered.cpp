// expect: must lie behind each other in memory
#include <tutti/communicator.hpp>

#include <list>
#include <vector>

void call(tutti::communicator& world) {
    std::list<int> data{1, 2};
    std::vector<int> together{1, 2};
#ifdef RIGHT
    (void)world.broadcast(together, 0);
#else
    (void)world.broadcast(data, 0);
#endif
}
