// expect: would be gone before the operation ends: give it a name
#include <tutti/communicator.hpp>

#include <vector>

void call(tutti::communicator& world) {
    std::vector<int> data{1, 2};
#ifdef RIGHT
    (void)world.exchange(tutti::send_to(data, 1));
#else
    (void)world.exchange(tutti::send_to(std::vector<int>{1, 2}, 1));
#endif
}
